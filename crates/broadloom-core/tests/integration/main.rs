//! Messages of the text language, and the calls that it takes.

mod calls;
mod slips;
