//! Does the judge of shell commands see what bash would do? By a table that others wrote, by bash itself, and by what must
//! hold for every command.

mod generator;
mod hostile;
mod oracle;
mod properties;
mod scene;
mod table;
mod trials;
