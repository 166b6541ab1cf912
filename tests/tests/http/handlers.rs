//! Annotated handlers with every kind of argument. To be filled.
