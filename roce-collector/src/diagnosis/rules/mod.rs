//! The rules, one verdict a file.

mod access_error;

use super::{Case, Diagnosis, Evidence, Finding, Opinion, Sight, Verdict};

/// A verdict and the question whether it fits.
type Rule = (Verdict, fn(&Case) -> Opinion);

/// In the order in which they are asked: the first that fits decides.
///
/// What an error source says for certain comes before what packets suggest; a cause of the network comes
/// after everything that rules the network out.
const RULES: &[Rule] = &[(Verdict::AccessError, access_error::judge)];

/// Asks every rule.
pub fn diagnose(case: &Case) -> Diagnosis {
    let mut decided = None;
    let mut ruled_out = Vec::new();
    let mut missing = Vec::new();
    for (verdict, judge) in RULES {
        match judge(case) {
            Opinion::Fits(finding) if decided.is_none() => decided = Some((*verdict, finding)),
            Opinion::Fits(_) => {}
            Opinion::RuledOut => ruled_out.push(*verdict),
            Opinion::CannotTell(what) => missing.push(what),
        }
    }
    let (verdict, mut finding) =
        decided.unwrap_or_else(|| (Verdict::Unknown, unknown(case, &missing)));
    if let Sight::Blind(why) = &case.sight {
        finding.evidence.push(Evidence::new("packets", format!("not seen: {why}")));
    }
    Diagnosis { verdict, finding, ruled_out }
}

/// Nothing fits: says what would have helped.
fn unknown(case: &Case, missing: &[&'static str]) -> Finding {
    let mut missing: Vec<_> = missing.to_vec();
    missing.dedup();
    let evidence = missing.iter().map(|what| Evidence::new("missing", what)).collect();
    let text = match &case.sight {
        Sight::Blind(why) => format!(
            "No packets of this host can be seen here ({why}), and no error source says more."
        ),
        Sight::NotLooked => {
            "Only a log is known. It does not tell a broken path from a silent peer: packets do."
                .to_owned()
        }
        Sight::NotFound => "Packets were seen, but none of this queue pair.".to_owned(),
        Sight::Seen(_) => "What was seen fits no rule.".to_owned(),
    };
    Finding { confidence: 0.0, text, evidence, next_steps: Vec::new() }
}
