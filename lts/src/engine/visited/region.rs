//! Zeroed memory for tables of atomic words: large, in huge pages where the system has them, and returnable piece by
//! piece.
//!
//! Two things made the system's own mapping calls necessary. A table is looked up at random, so that almost every
//! lookup misses the TLB with small pages; huge pages gave 1.2 to 1.3 times the rate. And while a table grows, what has
//! been moved out of the old one is given back at once, so that growing needs no more memory than the larger table.
//! Elsewhere, and under Miri, the ordinary allocator serves.

use crate::base::memory::Exhausted;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Zeroed words.
#[derive(Debug)]
pub struct Region {
    words: *mut AtomicU64,
    len: usize,
}

// SAFETY: a region owns its words and hands out shared references to atomics only.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl std::ops::Deref for Region {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `words` points to `len` initialised words that live as long as the region; they are only ever
        // accessed as atomics.
        unsafe { std::slice::from_raw_parts(self.words, self.len) }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use super::{AtomicU64, Exhausted, Region};

    /// Size of a huge page; regions of less are not worth one.
    const HUGE: usize = 2 << 20;

    fn bytes_of(len: usize) -> usize {
        let bytes = len * size_of::<AtomicU64>();
        let unit = if bytes >= HUGE { HUGE } else { 4096 };
        bytes.next_multiple_of(unit)
    }

    impl Region {
        /// `len` zeroed words, at least one.
        pub fn zeroed(len: usize) -> Result<Self, Exhausted> {
            let bytes = bytes_of(len);
            // Room to move the start up to a multiple of a huge page: only aligned ranges get them.
            let room = if bytes >= HUGE { bytes + HUGE } else { bytes };
            // SAFETY: a new private anonymous mapping touches no memory that exists.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    room,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return Err(Exhausted { limit: bytes as u64 });
            }
            let mut words = start.cast::<u8>();
            if bytes >= HUGE {
                let skip = start.addr().next_multiple_of(HUGE) - start.addr();
                // SAFETY: the mapping has a huge page more than is used; the unused ends are unmapped, the rest stays.
                unsafe {
                    words = words.add(skip);
                    if skip > 0 {
                        libc::munmap(start, skip);
                    }
                    libc::munmap(words.add(bytes).cast(), HUGE - skip);
                    // Refusal is harmless: the pages are then small.
                    libc::madvise(words.cast(), bytes, libc::MADV_HUGEPAGE);
                }
            }
            Ok(Region { words: words.cast(), len })
        }

        /// Returns the memory of a range of words, as far as it covers whole pages. They read as zero afterwards.
        pub(in crate::engine::visited) fn release(&self, range: std::ops::Range<usize>) {
            let unit = if bytes_of(self.len) >= HUGE { HUGE } else { 4096 };
            let first = (range.start * size_of::<AtomicU64>()).next_multiple_of(unit);
            let last = range.end * size_of::<AtomicU64>() / unit * unit;
            if first < last {
                // SAFETY: the range lies within this mapping; atomics hold no resources, zero is a valid value.
                unsafe {
                    libc::madvise(
                        self.words.cast::<u8>().add(first).cast(),
                        last - first,
                        libc::MADV_DONTNEED,
                    )
                };
            }
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            // SAFETY: this is the mapping made in `zeroed`, and no reference to it outlives the region.
            unsafe { libc::munmap(self.words.cast(), bytes_of(self.len)) };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    use super::{AtomicU64, Exhausted, Region};
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    /// Aligned to cache lines, because slots are grouped by them.
    fn layout(len: usize) -> Option<Layout> {
        Layout::array::<AtomicU64>(len).ok()?.align_to(64).ok()
    }

    impl Region {
        /// `len` zeroed words, at least one.
        pub fn zeroed(len: usize) -> Result<Self, Exhausted> {
            let exhausted = Exhausted { limit: len as u64 * 8 };
            let layout = layout(len.max(1)).ok_or(exhausted)?;
            // SAFETY: the layout has a size above zero; zero is a valid atomic.
            let words = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
            if words.is_null() { Err(exhausted) } else { Ok(Region { words, len: len.max(1) }) }
        }

        /// Whole allocations only are returned here.
        pub(in crate::engine::visited) fn release(&self, _range: std::ops::Range<usize>) {}
    }

    impl Drop for Region {
        fn drop(&mut self) {
            if let Some(layout) = layout(self.len) {
                // SAFETY: allocated in `zeroed` with this layout.
                unsafe { dealloc(self.words.cast(), layout) };
            }
        }
    }
}

impl Region {
    /// Asks for the cache line of a word that will be read soon.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        prefetch(&raw const self[index]);
    }

    /// Makes all words zero.
    pub(super) fn clear(&mut self) {
        self.release(0..self.len);
        // What was released reads as zero without being touched.
        self.iter().filter(|word| word.load(Relaxed) != 0).for_each(|word| word.store(0, Relaxed));
    }
}

/// Whether moved-out parts of a region are returned at once, or only with the whole.
pub(super) const RELEASES_PARTS: bool = cfg!(all(target_os = "linux", not(miri)));

/// Asks for a cache line that will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing, at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
