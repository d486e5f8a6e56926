//! The seam to the machine: clock, ids, the service manager. Everything that a test must be able to replace, and what only
//! Linux has, lives here; and what everybody needs who reads what people wrote: where it stands, and what was meant.

pub mod beyond_reach;
pub mod children;
pub mod clock;
pub mod current;
pub mod first_line;
pub mod folders;
pub mod guarded;
pub mod histogram;
pub mod ids;
pub mod key_file;
pub mod lexical;
pub mod mark;
pub mod named_files;
pub mod nearest;
pub mod own_ground;
pub mod owner_programs;
pub mod plain_text;
pub mod process;
pub mod programs;
pub mod regular_file;
pub mod source_places;
pub mod systemd;
pub mod tasks;
pub mod warden;
pub mod word_paths;
pub mod words;
pub mod worked_folders;
