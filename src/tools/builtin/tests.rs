//! What the built-in tools say, one file per tool.

mod ask_user;
mod delete_and_move;
mod edit_file;
mod glob;
mod grep;
mod large_changes;
mod list_directory;
mod read_file;
mod read_many_files;
mod run_shell_command;
mod save_memory;
mod write_file;
mod write_todos;
