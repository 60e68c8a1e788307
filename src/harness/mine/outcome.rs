//! How the result of a replayed call compares with what the agent did next.

/// How the result of a replayed call compares with the file after the agent's next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayOutcome {
    /// The call was applied, with the same result.
    Right,
    /// The call was applied; the results differ in whitespace only.
    OnlyWhitespace,
    /// The call was applied, with another result, which a person has to look at.
    Other,
    /// The call was applied, but the next call does not show what was intended.
    Unknown,
    /// The call was refused.
    Refused,
}

impl ReplayOutcome {
    /// Every outcome.
    pub const ALL: [Self; 5] =
        [Self::Right, Self::OnlyWhitespace, Self::Other, Self::Unknown, Self::Refused];

    /// Compares the file after a replayed call with the file that the agent intended.
    pub fn compare(after: &str, truth: Option<&str>) -> Self {
        let without_whitespace = |text: &str| text.split_whitespace().collect::<String>();
        match truth {
            None => Self::Unknown,
            Some(truth) if after == truth => Self::Right,
            Some(truth) if without_whitespace(after) == without_whitespace(truth) => {
                Self::OnlyWhitespace
            }
            Some(_) => Self::Other,
        }
    }

    /// Returns the words for tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::OnlyWhitespace => "right but for blanks",
            Self::Other => "other bytes",
            Self::Unknown => "applied, truth unknown",
            Self::Refused => "refused",
        }
    }
}

/// Whether two calls, each with its `old` and `new`, have the same intention: their `old` share half
/// of their words, and they add mostly the same words or, if they add none, remove mostly the same.
pub fn has_same_intention(call: (&str, &str), next: (&str, &str)) -> bool {
    let (old, new) = (sorted_words(call.0), sorted_words(call.1));
    let (next_old, next_new) = (sorted_words(next.0), sorted_words(next.1));
    let difference = |a: &[&str], b: &[&str]| -> Vec<String> {
        a.iter().filter(|word| !b.contains(word)).map(|word| (*word).to_owned()).collect()
    };
    let (added, removed) = (difference(&new, &old), difference(&old, &new));
    let next_added = difference(&next_new, &next_old);
    let next_removed = difference(&next_old, &next_new);
    // At least three fifths of the words are among the others.
    let are_mostly_in = |words: &[String], others: &[&str]| {
        let common = words.iter().filter(|word| others.contains(&word.as_str())).count();
        common * 5 >= words.len() * 3
    };
    let same_change = if added.is_empty() {
        let next_removed: Vec<&str> = next_removed.iter().map(String::as_str).collect();
        are_mostly_in(&removed, &next_removed)
    } else {
        are_mostly_in(&added, &next_new) && are_mostly_in(&next_added, &new)
    };
    let common_old = old.iter().filter(|word| next_old.contains(word)).count();
    let same_place = common_old * 2 >= old.len().min(next_old.len());
    same_change && same_place && next.0 != next.1
}

/// Returns the different words of a text, sorted.
fn sorted_words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = crate::text::words(text).collect();
    words.sort_unstable();
    words.dedup();
    words
}
