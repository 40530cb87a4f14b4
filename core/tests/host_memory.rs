//! Memory whose pieces are held by objects of a host, as ArrayBuffers are: viewers reach the whole piece, and may take
//! it away.

use brimful::memory::{Memory, MemoryRef, Profile, Raw};
use brimful::{Answer, Collector, Error, FromFn, Options, Pool, PoolOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// What the host does and has seen.
#[derive(Default)]
struct Host {
    recycled: AtomicUsize,
    freed: AtomicUsize,
    refuses: AtomicBool,
    detached: AtomicBool,
}

struct HostMemory {
    inner: MemoryRef,
    host: Arc<Host>,
}

// SAFETY: the inner memory keeps the promises; a piece that is said to be detached is still there.
unsafe impl Memory for HostMemory {
    fn profile(&self) -> Profile {
        Profile {
            detachable: true,
            reallocates: false,
            ..self.inner.profile()
        }
    }

    fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
        self.inner.allocate(size, align)
    }

    unsafe fn grow(&self, raw: &mut Raw, capacity: usize) -> bool {
        // SAFETY: passed on.
        unsafe { self.inner.grow(raw, capacity) }
    }

    fn is_attached(&self, _: &Raw) -> bool {
        !self.host.detached.load(Relaxed)
    }

    fn recycle(&self, _: &mut Raw) -> bool {
        self.host.recycled.fetch_add(1, Relaxed);
        !self.host.refuses.load(Relaxed)
    }

    unsafe fn deallocate(&self, raw: Raw) {
        self.host.freed.fetch_add(1, Relaxed);
        // SAFETY: passed on.
        unsafe { self.inner.deallocate(raw) };
    }
}

fn pool(inner: MemoryRef) -> (Pool, Arc<Host>) {
    let host = Arc::new(Host::default());
    let memory = HostMemory {
        inner,
        host: host.clone(),
    };
    let options = PoolOptions {
        memory: MemoryRef::counted(memory).expect("memory"),
        ..PoolOptions::default()
    };
    (Pool::new(options).expect("memory"), host)
}

fn collector(pool: &Pool) -> Collector {
    Collector::new(pool, Options::default()).expect("default options are in range")
}

#[test]
fn a_host_revokes_each_block_before_the_next_body_may_have_it() {
    for inner in [MemoryRef::system(), MemoryRef::heap()] {
        let (pool, host) = pool(inner);
        let mut first = collector(&pool);
        first.write(&[1; 100]).expect("memory");
        first.write(&[1; 300_000]).expect("memory"); // outgrows its small block, or goes on in another one
        first.end().expect("complete");
        let buffer = first.finish().expect("complete");
        drop(buffer);
        assert_eq!(host.recycled.load(Relaxed) as u64, pool.stats().released);
        assert_eq!(host.freed.load(Relaxed), 0);

        // A block that the host cannot revoke is not used again.
        host.refuses.store(true, Relaxed);
        let reused = pool.stats().reused;
        let mut second = collector(&pool);
        second.write(&[2; 100]).expect("memory");
        drop(second);
        assert_eq!(pool.stats().reused, reused + 1);
        assert_eq!(host.freed.load(Relaxed), 1);
    }
}

#[test]
fn a_reset_collector_revokes_the_block_that_it_keeps_or_lets_it_go() {
    let (pool, host) = pool(MemoryRef::system());
    let mut collector = collector(&pool);
    collector.write(&[1; 100]).expect("memory");
    collector.reset(None).expect("the same options");
    assert_eq!(host.recycled.load(Relaxed), 1);
    assert_eq!(pool.stats().released, 0);
    collector.write(&[1; 100]).expect("memory");
    host.refuses.store(true, Relaxed);
    collector.reset(None).expect("the same options");
    assert_eq!(host.freed.load(Relaxed), 1);
}

#[test]
fn a_shown_window_shows_nothing_stale_in_the_whole_piece_behind_the_body() {
    let (pool, _host) = pool(MemoryRef::heap());
    let mut first = collector(&pool);
    first.write(&[0xaa; 16_000]).expect("memory");
    drop(first);
    let mut second = collector(&pool);
    second.write(&[1; 100]).expect("memory");
    assert_eq!(pool.stats().reused, 1);
    let window = second.reserve(10, true).expect("memory");
    // SAFETY: the first block has 16 KiB, of which the window begins at `offset`; nobody else uses it now.
    let behind = unsafe { std::slice::from_raw_parts(window.pointer.as_ptr(), (16 << 10) - window.offset) };
    assert_eq!(window.offset, 100);
    assert!(behind.iter().all(|&byte| byte == 0));
}

#[test]
fn the_pieces_of_an_open_body_are_its_segments() {
    let (pool, _host) = pool(MemoryRef::heap());
    let mut collector = collector(&pool);
    for _ in 0..100 {
        collector.write(&[1; 1000]).expect("memory");
    }
    let pieces: Vec<usize> = collector.pieces().map(|(_, length, _)| length).collect();
    let segments: Vec<usize> = collector.segments().map(<[u8]>::len).collect();
    assert!(pieces.len() > 1);
    assert_eq!(pieces, segments);
}

#[test]
fn a_piece_that_was_taken_away_is_a_breach_of_contract() {
    let (pool, host) = pool(MemoryRef::system());
    let mut collector = collector(&pool);
    let detached = host.clone();
    let mut source = FromFn(move |_: &mut [u8]| {
        detached.detached.store(true, Relaxed);
        Answer::filled(10)
    });
    assert_eq!(collector.read(&mut source), Err(Error::Contract));
    assert_eq!(collector.info().received, 0);
    assert_eq!(pool.stats().outstanding, 0);
    assert_eq!(pool.stats().retained, 0);
}
