mod glob;
mod grep;
mod list_directory;
mod read_file;
