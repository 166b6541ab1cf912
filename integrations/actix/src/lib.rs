//! tairlock in actix services: nothing is here yet.
#![forbid(unsafe_code)]
