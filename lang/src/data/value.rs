//! Values of closed data expressions, in canonical form: two values are equal exactly if they are structurally equal
//! here (for functions and infinite sets: if they are *known* to be equal).
//!
//! Numbers of all numeric sorts share one representation; a Real that is integral is an integer.

use crate::data::code::LambdaCode;
use crate::model::{CtorId, SortId, Symbol};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A value in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A constructor applied to its arguments.
    Ctor(CtorId, Args),
    /// A list.
    List(List),
    /// A set.
    Set(Arc<Set>),
    /// A bag.
    Bag(Arc<Bag>),
    /// A function.
    Function(Arc<Function>),
    /// An irreducible term.
    Stuck(Arc<Stuck>),
}

/// Arguments of a constructor; shared.
pub type Args = Arc<[Value]>;

/// An exact number. Small integers are the common case; `Big` never holds what fits `Small`, `Ratio` never an integer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Number {
    Small(i64),
    Big(Arc<BigInt>),
    Ratio(Arc<BigRational>),
}

impl Number {
    /// The canonical form of an integer.
    pub fn from_big(n: BigInt) -> Self {
        match n.to_i64() {
            Some(small) => Number::Small(small),
            None => Number::Big(Arc::new(n)),
        }
    }

    /// The canonical form of a rational.
    pub fn from_ratio(r: BigRational) -> Self {
        if r.denom().is_one() { Self::from_big(r.numer().clone()) } else { Number::Ratio(Arc::new(r)) }
    }

    /// As an integer, if it is one.
    pub fn to_big(&self) -> Option<BigInt> {
        match self {
            Number::Small(n) => Some(BigInt::from(*n)),
            Number::Big(n) => Some((**n).clone()),
            Number::Ratio(_) => None,
        }
    }

    /// As a rational.
    pub fn to_ratio(&self) -> BigRational {
        match self {
            Number::Small(n) => BigRational::from_integer(BigInt::from(*n)),
            Number::Big(n) => BigRational::from_integer((**n).clone()),
            Number::Ratio(r) => (**r).clone(),
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        *self < Number::Small(0)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Number::Small(a), Number::Small(b)) => a.cmp(b),
            (Number::Big(a), Number::Big(b)) => a.cmp(b),
            _ => self.to_ratio().cmp(&other.to_ratio()),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A list, stored back to front so that `x |> l` on an unshared list and `tail` cost nothing.
#[derive(Clone, Debug, Default)]
pub struct List {
    reversed: Arc<Vec<Value>>,
    len: usize,
}

impl List {
    /// A list of these elements.
    pub fn new(mut items: Vec<Value>) -> Self {
        items.reverse();
        let len = items.len();
        List { reversed: Arc::new(items), len }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.reversed[..self.len].iter().rev()
    }

    /// The element at a position.
    pub fn get(&self, at: usize) -> Option<&Value> {
        if at < self.len { self.reversed.get(self.len - 1 - at) } else { None }
    }

    /// The list without its first element.
    pub fn tail(mut self) -> Option<Self> {
        self.len = self.len.checked_sub(1)?;
        Some(self)
    }

    /// How many bytes [`cons`](Self::cons) allocates: none while an unshared list has room.
    pub fn cons_bytes(&self) -> usize {
        let has_room = Arc::strong_count(&self.reversed) == 1 && self.len < self.reversed.capacity();
        if has_room { 0 } else { 2 * (self.len + 1) * size_of::<Value>() }
    }

    /// The list with one element before it.
    pub fn cons(mut self, head: Value) -> Self {
        match Arc::get_mut(&mut self.reversed) {
            Some(items) => {
                items.truncate(self.len);
                items.push(head);
            }
            None => {
                let mut items = Vec::with_capacity(self.len + 1);
                items.extend_from_slice(&self.reversed[..self.len]);
                items.push(head);
                self.reversed = Arc::new(items);
            }
        }
        self.len += 1;
        self
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.reversed[..self.len] == other.reversed[..other.len]
    }
}

impl Eq for List {}

impl PartialOrd for List {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for List {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl Hash for List {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.reversed[..self.len].hash(state);
    }
}

/// A set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// These elements, ascending.
    Finite(Vec<Value>),
    /// All but these elements, ascending.
    CoFinite(Vec<Value>),
    /// The elements for which a function yields true.
    Where(Value),
    /// A combination of which at least one side is not finite.
    Combined(SetOp, Arc<Set>, Arc<Set>),
}

/// How two sets are combined. The complement of `s` is `CoFinite([])` minus `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum SetOp {
    Union,
    Intersection,
    Difference,
}

/// A bag: how often an element occurs in general, and the elements for which that is not so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bag {
    /// The general case.
    pub base: Base,
    /// Elements, ascending, with how often they really occur; never what the base says.
    pub exceptions: Vec<(Value, Number)>,
}

/// How often an element occurs in a bag unless it is an exception.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// Not at all: the bag is finite.
    Zero,
    /// Once.
    One,
    /// As often as a function says.
    Where(Value),
    /// Once if it is in a set.
    Member(Arc<Set>),
    /// Computed from two bases.
    Combined(BagOp, Arc<Base>, Arc<Base>),
}

/// How two bags are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum BagOp {
    Sum,
    Least,
    Difference,
}

/// A function as a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// A mapping, constructor or operator, applied to fewer argument groups than it takes.
    Partial(Symbol, Vec<Args>),
    /// A lambda expression with the values of its free variables.
    Lambda(Arc<LambdaCode>, Vec<Value>),
    /// A function with exceptions: ascending by argument, none equal to what the base yields.
    Update(Value, Vec<(Value, Value)>),
    /// All values over a small domain, in the order in which the domain (of that function sort) is enumerated.
    Table(SortId, Vec<Value>),
}

/// An irreducible term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stuck {
    /// What could not be reduced.
    pub head: Head,
    /// The arguments that it is applied to.
    pub args: Vec<Value>,
}

/// The head of an irreducible term.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Head {
    /// A mapping without a matching equation or an operation outside its domain (`head([])`), by argument groups: all
    /// arguments are in one list, this is the number of groups.
    Symbol(Symbol, u32),
    /// `f(x)` where `f`, the first argument, is irreducible.
    Apply,
    /// `if(c, x, y)` with irreducible `c`.
    If,
    /// `f[x -> y]` where `x` contains an unknown.
    Update,
    /// A quantifier whose body could not be decided.
    Quantifier,
    /// An unknown of the enumeration, of this sort.
    Unknown(SortId),
    /// A number of which only bounds are known.
    Range(Option<Number>, Option<Number>),
}

impl Value {
    /// A small number.
    pub fn int(n: i64) -> Value {
        Value::Number(Number::Small(n))
    }

    /// An irreducible term.
    pub fn stuck(head: Head, args: Vec<Value>) -> Value {
        Value::Stuck(Arc::new(Stuck { head, args }))
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Whether an irreducible term or an unknown occurs anywhere inside, so that structural inequality proves nothing.
    pub fn has_stuck(&self) -> bool {
        self.any_stuck(&|_| true)
    }

    /// Whether one of the irreducible terms inside is of a kind; terms inside of these are not looked at.
    pub fn any_stuck<F: Fn(&Stuck) -> bool>(&self, kind: &F) -> bool {
        let any = |values: &[Value]| values.iter().any(|v| v.any_stuck(kind));
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match self {
            Value::Bool(_) | Value::Number(_) => false,
            Value::Ctor(_, args) => any(args),
            Value::List(l) => l.iter().any(|v| v.any_stuck(kind)),
            Value::Set(s) => s.any_stuck(kind),
            Value::Bag(b) => b.exceptions.iter().any(|(v, _)| v.any_stuck(kind)) || b.base.any_stuck(kind),
            Value::Function(f) => match &**f {
                Function::Partial(_, groups) => groups.iter().any(|g| any(g)),
                Function::Lambda(_, captured) => any(captured),
                Function::Update(base, table) => {
                    base.any_stuck(kind) || table.iter().any(|(k, v)| k.any_stuck(kind) || v.any_stuck(kind))
                }
                Function::Table(_, values) => any(values),
            },
            Value::Stuck(s) => kind(s),
        })
    }
}

impl Base {
    fn any_stuck<F: Fn(&Stuck) -> bool>(&self, kind: &F) -> bool {
        match self {
            Base::Zero | Base::One => false,
            Base::Where(f) => f.any_stuck(kind),
            Base::Member(set) => set.any_stuck(kind),
            Base::Combined(_, a, b) => a.any_stuck(kind) || b.any_stuck(kind),
        }
    }
}

impl Set {
    fn any_stuck<F: Fn(&Stuck) -> bool>(&self, kind: &F) -> bool {
        match self {
            Set::Finite(items) | Set::CoFinite(items) => items.iter().any(|v| v.any_stuck(kind)),
            Set::Where(f) => f.any_stuck(kind),
            Set::Combined(_, a, b) => a.any_stuck(kind) || b.any_stuck(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_equal_by_content_however_they_were_made() {
        let made = List::new(vec![Value::int(1), Value::int(2), Value::int(3)]);
        let tail = made.clone().tail().expect("not empty");
        let consed = List::default().cons(Value::int(3)).cons(Value::int(2));
        assert_eq!(tail, consed);
        assert_eq!(tail.cons(Value::int(1)), made);
        assert!(consed > made, "lexicographic: [2,3] > [1,2,3]");
        assert_eq!(List::default().tail(), None);
    }

    #[test]
    fn numbers_are_canonical() {
        assert_eq!(Number::from_big(BigInt::from(7)), Number::Small(7));
        let half = BigRational::new(1.into(), 2.into());
        assert_eq!(Number::from_ratio(&half + &half), Number::Small(1));
        assert!(Number::from_ratio(half) < Number::Small(1));
    }
}
