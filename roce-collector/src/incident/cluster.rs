//! Which signals are one failure, whatever the order in which they came.
//!
//! Pairs of signals that fit are joined, those with most in common first, as long as nothing that is known
//! of one side contradicts what is known of the other. So a line without a QP number cannot tie two queue
//! pairs together: it goes to the one that it fits best.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::CorrelatorLimits;
use super::claim::Claim;
use super::end::End;
use super::link::{Birth, Link, link, sides};

/// Signals of one failure.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) members: Vec<Member>,
    near: End,
    far: End,
}

/// A signal by its place in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) node: usize,
    /// Its near side is the far side of the cluster.
    pub(super) is_crossed: bool,
}

/// Joins `claims`. The first `told` of them stand for failures that were told, which are never joined with
/// each other; those from `failed` on are queue pairs in ERR, which have nothing to do with each other.
pub(super) fn cluster(
    claims: &[&Claim],
    told: usize,
    failed: usize,
    births: &[Birth],
    limits: &CorrelatorLimits,
) -> Vec<Cluster> {
    let mut links = Vec::new();
    let listed = Listed::of(claims, failed);
    for (at, one) in claims.iter().enumerate().take(failed) {
        for with in (told.max(at + 1)..failed).chain(listed.near(one)) {
            links.extend(link(one, claims[with], births, limits).map(|link| (link, at, with)));
        }
    }
    // Netlink and probes may both tell of one.
    let mut listed = BTreeMap::new();
    for (with, claim) in claims.iter().enumerate().skip(failed) {
        let at = *listed.entry((&claim.near.device, claim.near.qp)).or_insert(with);
        if at < with {
            links.extend(link(claims[at], claim, births, limits).map(|link| (link, at, with)));
        }
    }
    leave_out_ambiguous(claims, &mut links, failed);
    links.sort_by_key(|(link, at, with)| {
        (Reverse(link.weight), link.is_crossed, link.distance, *at, *with)
    });
    let mut forest = Forest::new(claims, told);
    for (link, at, with) in links {
        forest.join(at, with, link.is_crossed);
    }
    forest.join_nameless(claims, limits);
    forest.clusters.into_iter().flatten().collect()
}

/// Queue pairs in ERR by what others may name them by. There may be thousands.
#[derive(Debug, Default)]
struct Listed {
    by_qp: HashMap<u32, Vec<usize>>,
    by_process: HashMap<u32, Vec<usize>>,
}

impl Listed {
    fn of(claims: &[&Claim], failed: usize) -> Self {
        let mut listed = Self::default();
        for (at, Claim { near, far, .. }) in claims.iter().enumerate().skip(failed) {
            for qp in [near.qp, far.qp].into_iter().flatten() {
                listed.by_qp.entry(qp).or_default().push(at);
            }
            if let Some(task) = near.task {
                listed.by_process.entry(task).or_default().push(at);
            }
        }
        listed
    }

    /// Those that have a number or a process in common with a claim.
    fn near(&self, claim: &Claim) -> BTreeSet<usize> {
        let sides = [&claim.near, &claim.far];
        let qps = sides.iter().filter_map(|side| self.by_qp.get(&side.qp?));
        let pids = sides.iter().flat_map(|side| {
            let printed = side.process.as_ref().and_then(|process| process.pid);
            [side.task, printed].into_iter().flatten()
        });
        let processes = pids.filter_map(|pid| self.by_process.get(&pid));
        qps.chain(processes).flatten().copied().collect()
    }
}

/// A process that has several queue pairs in ERR does not say of which one its line is.
fn leave_out_ambiguous(claims: &[&Claim], links: &mut Vec<(Link, usize, usize)>, failed: usize) {
    let is_by_process =
        |(link, _, with): &(Link, usize, usize)| link.is_by_process && *with >= failed;
    let mut candidates = BTreeMap::<usize, BTreeSet<_>>::new();
    for (_, at, with) in links.iter().filter(|it| is_by_process(it)) {
        let End { device, qp, .. } = &claims[*with].near;
        candidates.entry(*at).or_default().insert((device, qp));
    }
    links.retain(|it| !is_by_process(it) || candidates[&it.1].len() == 1);
}

#[derive(Debug)]
struct Forest {
    /// The cluster of each claim.
    of: Vec<usize>,
    clusters: Vec<Option<Cluster>>,
    told: usize,
}

impl Forest {
    fn new(claims: &[&Claim], told: usize) -> Self {
        let single = |(node, claim): (usize, &&Claim)| {
            let members = vec![Member { node, is_crossed: false }];
            Some(Cluster { members, near: claim.near.clone(), far: claim.far.clone() })
        };
        let clusters = claims.iter().enumerate().map(single).collect();
        Self { of: (0..claims.len()).collect(), clusters, told }
    }

    /// Joins the clusters of two claims, if nothing speaks against it.
    fn join(&mut self, at: usize, with: usize, is_crossed: bool) {
        let (into, from) = (self.of[at].min(self.of[with]), self.of[at].max(self.of[with]));
        // A told failure is the first of its cluster.
        if into == from || from < self.told {
            return;
        }
        let turned = |node: usize| {
            let members = self.clusters[self.of[node]].iter().flat_map(|it| &it.members);
            members.into_iter().any(|member| member.node == node && member.is_crossed)
        };
        let is_crossed = is_crossed ^ turned(at) ^ turned(with);
        let (Some(one), Some(other)) = (&self.clusters[into], &self.clusters[from]) else { return };
        let (near, far) =
            if is_crossed { (&other.far, &other.near) } else { (&other.near, &other.far) };
        if sides((&one.near, &one.far), (near, far)).is_none() {
            return;
        }
        let (near, far) = (near.clone(), far.clone());
        let moved = self.clusters[from].take().map(|cluster| cluster.members).unwrap_or_default();
        if let Some(cluster) = &mut self.clusters[into] {
            cluster.near.absorb(&near);
            cluster.far.absorb(&far);
            for member in moved {
                self.of[member.node] = into;
                let is_crossed = member.is_crossed ^ is_crossed;
                cluster.members.push(Member { is_crossed, ..member });
            }
        }
    }

    /// A status line that names nothing belongs to the only queue pair in trouble at its time, if there is
    /// just one of which no log told yet.
    fn join_nameless(&mut self, claims: &[&Claim], limits: &CorrelatorLimits) {
        for (node, claim) in claims.iter().enumerate().skip(self.told) {
            let is_alone = self.clusters[self.of[node]].as_ref().is_some_and(|cluster| {
                cluster.members.iter().all(|it| claims[it.node].is_nameless())
            });
            if !is_alone {
                continue;
            }
            let fits = |(_, cluster): &(usize, &Cluster)| {
                let is_unlogged =
                    cluster.members.iter().all(|it| !claims[it.node].rank.is_logged());
                let is_near = cluster.members.iter().any(|it| {
                    let place = &claims[it.node].place;
                    place.distance(&claim.place, limits.join_by_process, 0).is_some()
                });
                let ends = ((&cluster.near, &cluster.far), (&claim.near, &claim.far));
                is_unlogged && is_near && sides(ends.0, ends.1).is_some()
            };
            let clusters = self.clusters.iter().enumerate();
            let mut fitting =
                clusters.filter_map(|(at, cluster)| Some((at, cluster.as_ref()?))).filter(fits);
            let only = fitting.next().filter(|_| fitting.next().is_none());
            if let Some(with) = only.and_then(|(_, cluster)| cluster.members.first()) {
                let with = with.node;
                self.join(node, with, false);
            }
        }
    }
}
