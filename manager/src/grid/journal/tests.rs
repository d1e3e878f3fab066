//! Journals that are torn, damaged, foreign or in use.

use super::*;

impl<T: Serialize> Journal<T> {
    /// Appends records and waits until they are on disk.
    fn append(&mut self, records: &[T]) -> Result<(), Trouble> {
        self.begin(batch(records))?;
        self.settle()
    }
}

fn batch(records: &[impl Serialize]) -> Batch {
    let mut batch = Batch::default();
    records.iter().for_each(|record| batch.add(Tally::default(), record).expect("bytes"));
    batch
}

/// The records of a journal that may be in use.
fn read<T: DeserializeOwned>(dir: &Path) -> Result<Vec<T>, Trouble> {
    let (_, Tallies(source)) = look(dir)?;
    all(Records { source, left: 0, records: PhantomData })
}

fn all<T: DeserializeOwned>(mut records: Records<T>) -> Result<Vec<T>, Trouble> {
    let mut all = Vec::new();
    while let Some(record) = records.next()? {
        all.push(record);
    }
    Ok(all)
}

fn open<T: DeserializeOwned>(dir: &Path, resume: bool) -> Result<(Journal<T>, Vec<T>), Trouble> {
    let (journal, records) = Journal::open(dir, &identity("m"), resume)?;
    let count = records.len();
    let all = all(records)?;
    assert_eq!(all.len(), count);
    Ok((journal, all))
}

fn identity(model: &str) -> Identity {
    vec![("model".to_owned(), model.to_owned()), ("jobs".to_owned(), "trace".to_owned())]
}

#[test]
fn a_journal_survives_a_kill_at_any_byte() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("c");
    let (mut journal, old) = open::<String>(&at, false).unwrap();
    assert!(old.is_empty());
    let all = ["one", "two", "three", ""].map(str::to_owned);
    journal.append(&all[..1]).unwrap();
    journal.append(&all[1..]).unwrap();
    drop(journal);
    let whole = fs::read(at.join(RECORDS)).unwrap();
    for end in 0..=whole.len() {
        fs::write(at.join(RECORDS), &whole[..end]).unwrap();
        let (mut journal, old) = open::<String>(&at, true).unwrap();
        assert_eq!(old, all[..old.len()], "the first records");
        journal.append(&["more".to_owned()]).unwrap();
        drop(journal);
        let (_, again) = open::<String>(&at, true).unwrap();
        assert_eq!(again[..old.len()], old);
        assert_eq!(again[old.len()..], ["more"]);
        assert_eq!(read::<String>(&at).unwrap(), again);
    }
}

#[test]
fn records_settle_in_order_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = open::<u64>(dir.path(), false).unwrap();
    let mut before = 0;
    for k in 0..200 {
        journal.begin(batch(&[3 * k, 3 * k + 1, 3 * k + 2])).unwrap();
        let settled = journal.settled().unwrap();
        assert!(before <= settled && settled <= 3 * k + 3);
        before = settled;
        // What has settled is there for others to read.
        let there = read::<u64>(dir.path()).unwrap();
        assert!(there.len() as u64 >= settled, "{} of {settled}", there.len());
        assert_eq!(there, (0..there.len() as u64).collect::<Vec<_>>());
    }
    journal.append(&[]).unwrap();
    assert_eq!(journal.settled().unwrap(), 600);
    drop(journal);
    let (_, all) = open::<u64>(dir.path(), true).unwrap();
    assert_eq!(all.len(), 600);
}

#[test]
fn a_journal_is_not_taken_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let open = |model: &str, resume| Journal::<String>::open(dir.path(), &identity(model), resume);
    let first = open("m", true).unwrap();
    assert!(matches!(open("m", true), Err(Trouble::InUse(_))), "a second process");
    drop(first);
    assert!(matches!(open("m", false), Err(Trouble::Exists(_))));
    let Err(Trouble::Other { what, journal, run }) = open("other", true) else { panic!("another run") };
    assert_eq!([what, journal, run], ["model", "m", "other"]);
    fs::write(dir.path().join(RECORDS), "something else").unwrap();
    assert!(matches!(open("m", true), Err(Trouble::Foreign(..))));
}

#[test]
fn a_journal_whose_head_is_damaged_is_not_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = open::<String>(dir.path(), false).unwrap();
    journal.append(&["x".repeat(LONGEST_TORN as usize)]).unwrap();
    drop(journal);
    let path = dir.path().join(RECORDS);
    let whole = fs::read(&path).unwrap();
    for bit in 0..8 * head(&identity("m")).unwrap().len() {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        for resume in [false, true] {
            let opened = open::<String>(dir.path(), resume);
            assert!(matches!(opened, Err(Trouble::Foreign(..))), "bit {bit}");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "bit {bit}: it is as it was");
    }
}

#[test]
fn broken_records_end_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = open::<String>(dir.path(), false).unwrap();
    journal.append(&["one".to_owned(), "two".to_owned()]).unwrap();
    drop(journal);
    let mut bytes = fs::read(dir.path().join(RECORDS)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(dir.path().join(RECORDS), bytes).unwrap();
    let (_, old) = open::<String>(dir.path(), true).unwrap();
    assert_eq!(old, ["one"]);
}

#[test]
fn zeros_at_the_end_are_no_records() {
    let dir = tempfile::tempdir().unwrap();
    let (mut journal, _) = open::<String>(dir.path(), false).unwrap();
    journal.append(&["one".to_owned()]).unwrap();
    drop(journal);
    let whole = fs::read(dir.path().join(RECORDS)).unwrap();
    for zeros in 0..40 {
        fs::write(dir.path().join(RECORDS), [&whole[..], &vec![0; zeros]].concat()).unwrap();
        assert_eq!(read::<String>(dir.path()).unwrap(), ["one"]);
        let (mut journal, old) = open::<String>(dir.path(), true).unwrap();
        assert_eq!(old, ["one"]);
        journal.append(&["two".to_owned()]).unwrap();
        drop(journal);
        assert_eq!(read::<String>(dir.path()).unwrap(), ["one", "two"]);
    }
}
