-- What a client has the system prompts of a session's later root runs end with. Sessions of before have nothing.
alter table sessions add column system_append text;
