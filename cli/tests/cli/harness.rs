//! Runs the binary in a directory of its own, never for longer than a minute.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(600);

/// Two buffers in a row that pass on one of two values; the channel between them is hidden.
pub const BUFFERS: &str = "
sort D = struct d1 | d2;
act r1, s2, r2, c2, s4: D;
proc S = sum d: D . r1(d) . s2(d) . S;
     R = sum d: D . r2(d) . s4(d) . R;
init hide({c2}, allow({r1, s4, c2}, comm({s2|r2 -> c2}, S || R)));
";

/// A counter without end.
pub const COUNTER: &str = "act a: Nat; proc P(n: Nat) = a(n) . P(n + 1); init P(0);";

/// After two steps a condition has no truth value.
pub const PARTIAL: &str = "
map f: Nat -> Bool;
eqn f(0) = true; f(1) = true;
act a: Nat;
proc P(n: Nat) = f(n) -> a(n) . P(n + 1);
init P(0);
";

/// A directory with files in it.
pub struct Bench {
    directory: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Asserts the exit code and returns the run.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Asserts that standard error contains all these texts.
    #[track_caller]
    pub fn tells(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in {}", self.err);
        }
        self
    }
}

impl Bench {
    /// A directory with the given files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let bench = Bench { directory: TempDir::new().expect("a directory") };
        for (name, text) in files {
            bench.write(name, text);
        }
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// The names of the files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|e| e.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gridlock"));
        command.args(arguments).current_dir(self.directory.path()).env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the binary without input.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.pipe(arguments, "")
    }

    /// Runs the binary with this on its standard input.
    pub fn pipe(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.command(arguments).spawn().expect("the binary");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        // It may end without reading everything.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        finish(child)
    }
}

/// Waits for the end of a run.
pub fn finish(mut child: Child) -> Ran {
    fn all(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).expect("a pipe");
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }
    let out = child.stdout.take().map(all);
    let err = child.stderr.take().map(all);
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status.code();
        }
        if start.elapsed() > PATIENCE {
            child.kill().expect("a child");
            panic!("no end within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text =
        |t: Option<thread::JoinHandle<String>>| t.map_or(String::new(), |t| t.join().expect("a reader"));
    Ran { code, out: text(out), err: text(err) }
}
