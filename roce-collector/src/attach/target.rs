//! Which interfaces can be attached to.

use super::{LinkFacts, LinkKind, Links};

/// How deep interfaces may be stacked.
const MAX_DEPTH: u32 = 8;

/// Why an interface is none to attach to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No interface was named.
    #[error("no interface was named; use --iface with one or more of: {existing}")]
    NoneNamed {
        /// Those that exist, separated by commas.
        existing: String,
    },
    /// There is no such interface.
    #[error("there is no interface {name}; there are: {existing}")]
    Missing {
        /// The name given.
        name: String,
        /// Those that exist, separated by commas.
        existing: String,
    },
    /// The same interface was named twice.
    #[error("interface {name} was named twice; name it once")]
    Twice {
        /// Its name.
        name: String,
    },
    /// A bond or a VLAN, which only its ports see the frames of.
    #[error("{name} is {what}: attach to what carries its frames instead: --iface {instead}")]
    Stacked {
        /// The name given.
        name: String,
        /// `a bond`, or `a VLAN on eth0`.
        what: String,
        /// Names to use instead, separated by commas.
        instead: String,
    },
    /// A bond or a VLAN with nothing below that this namespace can see.
    #[error("{name} is {what}, and nothing below it is in this network namespace: {advice}")]
    Empty {
        /// The name given.
        name: String,
        /// `a bond` or `a VLAN`.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
}

/// Facts of the interfaces in `names`, in that order.
///
/// # Errors
///
/// When one is missing, named twice, a bond or a VLAN. The message names what to use instead.
pub fn resolve<'a>(links: &'a Links, names: &[String]) -> Result<Vec<&'a LinkFacts>, TargetError> {
    if names.is_empty() {
        return Err(TargetError::NoneNamed { existing: existing(links) });
    }
    let mut targets: Vec<&LinkFacts> = Vec::with_capacity(names.len());
    for name in names {
        let link = links.named(name).ok_or_else(|| TargetError::Missing {
            name: name.clone(),
            existing: existing(links),
        })?;
        if targets.iter().any(|target| target.index == link.index) {
            return Err(TargetError::Twice { name: name.clone() });
        }
        check_target(links, link)?;
        targets.push(link);
    }
    Ok(targets)
}

/// Refuses an interface whose frames other interfaces carry.
///
/// # Errors
///
/// [`TargetError::Stacked`] and [`TargetError::Empty`].
pub fn check_target(links: &Links, link: &LinkFacts) -> Result<(), TargetError> {
    let (what, advice) = match link.kind {
        LinkKind::Bond => ("a bond", "add ports to the bond, then name those"),
        LinkKind::Vlan => ("a VLAN", "run in the namespace of the interface below and name that"),
        _ => return Ok(()),
    };
    let mut carriers = Vec::new();
    carriers_of(links, link, MAX_DEPTH, &mut carriers);
    if carriers.is_empty() {
        return Err(TargetError::Empty { name: link.name.clone(), what, advice });
    }
    let below =
        link.lower.filter(|_| link.kind == LinkKind::Vlan).and_then(|index| links.at(index));
    let what = below.map_or(what.to_owned(), |below| format!("{what} on {}", below.name));
    let instead = carriers.join(",");
    Err(TargetError::Stacked { name: link.name.clone(), what, instead })
}

/// Names of the interfaces that carry the frames of `link`.
fn carriers_of<'a>(links: &'a Links, link: &'a LinkFacts, depth: u32, names: &mut Vec<&'a str>) {
    if depth == 0 {
        return;
    }
    match link.kind {
        LinkKind::Bond => {
            for port in links.ports_of(link.index) {
                carriers_of(links, port, depth - 1, names);
            }
        }
        LinkKind::Vlan => {
            if let Some(lower) = link.lower.and_then(|index| links.at(index)) {
                carriers_of(links, lower, depth - 1, names);
            }
        }
        _ if names.contains(&link.name.as_str()) => {}
        _ => names.push(&link.name),
    }
}

fn existing(links: &Links) -> String {
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::testing::link;

    fn bond_and_vlans() -> Links {
        let mut links = vec![link(1, "lo"), link(2, "eth2"), link(3, "eth3"), link(4, "bond0")];
        links[3].kind = LinkKind::Bond;
        for port in &mut links[1..3] {
            port.master = Some(4);
        }
        for (index, name, lower) in [(5, "bond0.100", 4), (6, "lan", 1), (7, "away", 99)] {
            let mut vlan = link(index, name);
            vlan.kind = LinkKind::Vlan;
            vlan.lower = Some(lower);
            links.push(vlan);
        }
        Links::new(links)
    }

    fn message(name: &str) -> String {
        resolve(&bond_and_vlans(), &[name.to_owned()]).unwrap_err().to_string()
    }

    #[test]
    fn a_bond_names_its_slaves() {
        let expected =
            "bond0 is a bond: attach to what carries its frames instead: --iface eth2,eth3";
        assert_eq!(message("bond0"), expected);
    }

    #[test]
    fn a_vlan_names_what_is_at_the_bottom() {
        assert!(message("bond0.100").starts_with("bond0.100 is a VLAN on bond0: "));
        assert!(message("bond0.100").ends_with("--iface eth2,eth3"));
        assert!(message("lan").ends_with("--iface lo"));
        assert!(message("away").contains("nothing below it"), "{}", message("away"));
    }

    #[test]
    fn an_empty_bond_and_a_loop_end() {
        let mut bond = link(1, "bond0");
        bond.kind = LinkKind::Bond;
        let mut links = vec![bond.clone()];
        assert!(
            check_target(&Links::new(links.clone()), &bond)
                .unwrap_err()
                .to_string()
                .contains("add ports")
        );
        bond.master = Some(1);
        links[0] = bond.clone();
        assert!(check_target(&Links::new(links), &bond).is_err());
    }

    #[test]
    fn a_missing_name_lists_the_existing_ones() {
        assert_eq!(
            message("eth9"),
            "there is no interface eth9; there are: lo, eth2, eth3, bond0, bond0.100, lan, away"
        );
        let twice = ["eth2".to_owned(), "eth2".to_owned()];
        assert!(resolve(&bond_and_vlans(), &twice).unwrap_err().to_string().contains("twice"));
        assert!(resolve(&bond_and_vlans(), &[]).unwrap_err().to_string().contains("--iface"));
    }

    #[test]
    fn names_keep_their_order() {
        let links = bond_and_vlans();
        let targets = resolve(&links, &["eth3".to_owned(), "lo".to_owned()]).unwrap();
        assert_eq!(targets.iter().map(|link| link.index).collect::<Vec<_>>(), [3, 1]);
    }
}
