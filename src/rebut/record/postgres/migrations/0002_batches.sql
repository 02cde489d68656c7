-- The lines of batches: which session is the debate of a line, and how it ended.

create table rebut_line (
  hash text primary key,                                -- of the line: the same line is the same debate
  batch text not null,                                  -- the name of its file
  number integer not null,
  name jsonb not null,                                  -- the user's id
  session text not null,
  outcome jsonb,                                        -- the row of the results; null while it has not ended
  ended timestamptz,
  enqueued timestamptz not null default now()
);

create index rebut_line_open on rebut_line (hash) where outcome is null;
create index rebut_line_ended on rebut_line (ended) where outcome is not null;

-- A failure never replaces an outcome: the worker that reports it may have lost the debate long ago.
create function rebut_end_line(wanted text, made jsonb) returns void language sql as $$
  update rebut_line set outcome = made, ended = clock_timestamp()
   where hash = wanted and (outcome is null or outcome ? 'failure' or not made ? 'failure')
$$;
