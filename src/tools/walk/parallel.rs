//! How is a list worked on by several threads so that the outcome does not depend on their timing?

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Threads of one walk or search. More than this only fight for the same disk and page cache.
const MAX_THREADS: usize = 8;
/// Below this many items, starting threads costs more than it saves (about 30 µs each).
const MIN_ITEMS: usize = 16;

/// Works on a prefix of `items` and gives its results in their order.
///
/// `go_on` is asked before an item is taken and `None` ends the prefix. Items are taken in order and each one
/// taken is finished; what `go_on` saw can only come from items before the one it lets through.
pub fn map_prefix<Item, Seen, Outcome>(
    items: &[Item],
    go_on: impl Fn() -> Option<Seen> + Sync,
    work: impl Fn(Seen, &Item) -> Outcome + Sync,
) -> Vec<Outcome>
where
    Item: Sync,
    Outcome: Send,
{
    map_prefix_with(items, go_on, || (), |_, seen, item| work(seen, item))
}

/// The same by workers that each have something of their own, which `begin` makes: a buffer, an open folder. It must not
/// change what an item comes to.
pub fn map_prefix_with<Item, Own, Seen, Outcome>(
    items: &[Item],
    go_on: impl Fn() -> Option<Seen> + Sync,
    begin: impl Fn() -> Own + Sync,
    work: impl Fn(&mut Own, Seen, &Item) -> Outcome + Sync,
) -> Vec<Outcome>
where
    Item: Sync,
    Outcome: Send,
{
    let next = AtomicUsize::new(0);
    let run = || {
        let (mut done, mut own) = (Vec::new(), begin());
        while let Some(seen) = go_on() {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(item) = items.get(index) else { break };
            done.push((index, work(&mut own, seen, item)));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    if threads == 1 || items.len() < MIN_ITEMS {
        return run().into_iter().map(|(_, outcome)| outcome).collect();
    }
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
