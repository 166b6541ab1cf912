//! tairlock in tower services: nothing is here yet.
#![forbid(unsafe_code)]
