//! tairlock in axum services: nothing is here yet.
#![forbid(unsafe_code)]
