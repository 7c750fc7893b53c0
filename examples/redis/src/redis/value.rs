//! The types of values.

use super::commands::Error;
use indexmap::{IndexMap, IndexSet};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, VecDeque};

pub type Text = Vec<u8>;
pub type List = VecDeque<Vec<u8>>;
pub type Set = IndexSet<Vec<u8>>;
pub type Hash = IndexMap<Vec<u8>, Vec<u8>>;

pub enum Value {
    Text(Text),
    List(List),
    Set(Set),
    Hash(Hash),
    Sorted(SortedSet),
}

impl Value {
    /// What redis calls the type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Hash(_) => "hash",
            Self::Sorted(_) => "zset",
        }
    }

    /// What has elements goes with its last one.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(list) => list.is_empty(),
            Self::Set(set) => set.is_empty(),
            Self::Hash(hash) => hash.is_empty(),
            Self::Sorted(sorted) => sorted.scores.is_empty(),
        }
    }
}

/// One of the types.
pub trait Kind: Default + Into<Value> {
    /// The error: the value is of another type.
    fn of(value: &mut Value) -> Result<&mut Self, Error>;
}

macro_rules! kind {
    ($kind:ty, $variant:ident) => {
        impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::$variant(value)
            }
        }

        impl Kind for $kind {
            fn of(value: &mut Value) -> Result<&mut Self, Error> {
                match value {
                    Value::$variant(value) => Ok(value),
                    _ => Err(Error::WRONG_TYPE),
                }
            }
        }
    };
}

kind!(Text, Text);
kind!(List, List);
kind!(Set, Set);
kind!(Hash, Hash);
kind!(SortedSet, Sorted);

/// Members in the order of their scores.
#[derive(Default)]
pub struct SortedSet {
    scores: HashMap<Vec<u8>, f64>,
    order: BTreeSet<(Score, Vec<u8>)>,
}

impl SortedSet {
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// Gives a member this score, whether it is new or not.
    pub fn insert(&mut self, member: &[u8], score: f64) {
        // There is one zero.
        let score = score + 0.0;
        if let Some(before) = self.scores.insert(member.to_owned(), score) {
            self.order.remove(&(Score(before), member.to_owned()));
        }
        self.order.insert((Score(score), member.to_owned()));
    }

    pub fn pop_first(&mut self) -> Option<(Vec<u8>, f64)> {
        let (score, member) = self.order.pop_first()?;
        self.scores.remove(&member);
        Some((member, score.0))
    }

    pub fn remove(&mut self, member: &[u8]) -> bool {
        let Some(score) = self.scores.remove(member) else {
            return false;
        };
        self.order.remove(&(Score(score), member.to_owned()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.order.iter().map(|(score, member)| (&**member, score.0))
    }
}

/// A score is never NaN.
struct Score(f64);

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}
