//! Filters that killed processes left behind.

use std::path::Path;
use std::process;

use super::TcFilter;

/// Whether nobody owns `filter` any more.
///
/// Its handle is the id of the process that attached it. That process is gone, or it was an earlier
/// one with the id that this process has now, as in a container that was started again.
pub fn is_leftover(filter: TcFilter) -> bool {
    judge(filter, process::id(), |id| Path::new("/proc").join(id.to_string()).exists())
}

fn judge(filter: TcFilter, own_id: u32, is_alive: impl Fn(u32) -> bool) -> bool {
    filter.handle == own_id || !is_alive(filter.handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::Direction;

    #[test]
    fn filters_of_other_live_processes_stay() {
        let filter = |handle| TcFilter { direction: Direction::Ingress, priority: 1, handle };
        let is_alive = |id| id == 10 || id == 11;
        assert!(judge(filter(10), 10, is_alive));
        assert!(!judge(filter(11), 10, is_alive));
        assert!(judge(filter(12), 10, is_alive));
        assert!(is_leftover(filter(process::id())));
        assert!(!is_leftover(filter(1)));
    }
}
