//! What the built-in tools say, one file per tool.

mod glob;
mod grep;
mod list_directory;
mod read_file;
mod read_many_files;
mod write_todos;
