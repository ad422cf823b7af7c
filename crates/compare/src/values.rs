//! Comparing extracted values field by field. Equal means equal: the same type and the same text or number.

use std::collections::BTreeMap;

use serde::Serialize;

/// Name and version of the way in which values are compared. It goes with every result.
pub const VALUES_METRIC: &str = "exact-values-1";

/// What two sets of values come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueComparison<V> {
    /// [`VALUES_METRIC`].
    pub metric: &'static str,
    /// Names in both with equal values.
    pub equal: u64,
    /// Every name that differs, in order.
    pub differences: Vec<ValueDifference<V>>,
}

/// One name that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueDifference<V> {
    /// `added`, `removed` or `changed`.
    pub kind: ValueChange,
    /// The value's name.
    pub field: String,
    /// What it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<V>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<V>,
}

/// How a name differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueChange {
    /// Only the new values have it.
    Added,
    /// Only the old values have it.
    Removed,
    /// Both have it, with different values.
    Changed,
}

/// Compares two sets of named values.
pub fn compare_values<V: Clone + PartialEq>(
    before: &BTreeMap<String, V>,
    after: &BTreeMap<String, V>,
) -> ValueComparison<V> {
    let removed = before.iter().filter(|(name, _)| !after.contains_key(*name));
    let removed = removed.map(|(name, old)| difference(ValueChange::Removed, name, Some(old), None));
    let other = after.iter().filter_map(|(name, new)| match before.get(name) {
        None => Some(difference(ValueChange::Added, name, None, Some(new))),
        Some(old) if old != new => Some(difference(ValueChange::Changed, name, Some(old), Some(new))),
        Some(_) => None,
    });
    let mut differences: Vec<_> = removed.chain(other).collect();
    differences.sort_by(|a, b| a.field.cmp(&b.field));
    let equal = after.iter().filter(|(name, new)| before.get(*name) == Some(new)).count() as u64;
    ValueComparison { metric: VALUES_METRIC, equal, differences }
}

fn difference<V: Clone>(kind: ValueChange, field: &str, before: Option<&V>, after: Option<&V>) -> ValueDifference<V> {
    ValueDifference { kind, field: field.to_owned(), before: before.cloned(), after: after.cloned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, u32)]) -> BTreeMap<String, u32> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn every_name_is_accounted_for_once() {
        let (before, after) = (values(&[("a", 1), ("b", 2), ("c", 3)]), values(&[("b", 2), ("c", 4), ("d", 5)]));
        let comparison = compare_values(&before, &after);
        assert_eq!(comparison.equal, 1);
        let found: Vec<_> =
            comparison.differences.iter().map(|d| (d.kind, d.field.as_str(), d.before, d.after)).collect();
        assert_eq!(
            found,
            [
                (ValueChange::Removed, "a", Some(1), None),
                (ValueChange::Changed, "c", Some(3), Some(4)),
                (ValueChange::Added, "d", None, Some(5)),
            ]
        );
        assert_eq!(compare_values(&before, &before).differences, []);
    }
}
