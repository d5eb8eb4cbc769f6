//! Sorts and searches against the text of their specification: comparisons that are written out for each kind of dtype, and a
//! stable sort by them.

mod searches;
mod selections;
mod sorts;
mod spec;
mod stops;
mod uniques;
