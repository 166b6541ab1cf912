//! Nothing: the cases are this crate's tests.
