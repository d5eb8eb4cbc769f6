#[path = "../integration/choices.rs"]
mod choices;
#[path = "../integration/selections.rs"]
mod selections;
#[path = "../integration/sorts.rs"]
mod sorts;
