//! Median and spread.

use serde_json::{Value, json};

/// Of the values of all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// `values` has at least one element.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        // With an even number, between the two in the middle.
        let median = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
        Self { median, min: at(0), max: at(last) }
    }

    pub(super) fn to_json(self) -> Value {
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        json!({ "median": rounded(self.median), "min": rounded(self.min), "max": rounded(self.max) })
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn median_of_odd_and_even_numbers() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median.to_bits(), 2.5_f64.to_bits());
    }
}
