-- The event `confirmation.edited` of a question, while hooks are asked about what a person made of the call: whoever looks at
-- the question is told who has answered. A projection like the rest of the row: it can be rebuilt from the log.
alter table confirmations add column edited_seq integer;
