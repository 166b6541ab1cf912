//! The READMEs. To be filled.
