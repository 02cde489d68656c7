-- The limits of whole batches: what the debates of a batch have spent and reserved together, over all workers.

create table rebut_batch_limit (
  batch text primary key,                               -- as in rebut_line
  max_calls bigint,                                     -- null: no limit
  max_tokens bigint,
  max_usd float8,
  calls bigint not null default 0,                      -- of all its lines: the sum of theirs
  tokens bigint not null default 0,
  usd float8 not null default 0,
  reached text not null default ''                      -- the limit that left no room for a further call
);

-- What the debate of a line has spent and reserved, and its calls in flight, as the worker that has it says.
alter table rebut_line
  add column calls bigint not null default 0,
  add column tokens bigint not null default 0,
  add column usd float8 not null default 0,
  add column in_flight integer not null default 0;

create index rebut_line_batch on rebut_line (batch);
create index rebut_line_in_flight on rebut_line (batch) where in_flight > 0;

-- Set what a debate has spent and reserved. False, and nothing is set, for a worker that lost the debate. Said again, it
-- changes nothing; the worker that takes a debate over replaces what a dead one had reserved beyond its journal.
create function rebut_settle(wanted text, mine bigint, its_calls bigint, its_tokens bigint, its_usd float8, flying integer)
returns boolean language plpgsql as $$
declare
  was rebut_line;
begin
  perform from rebut_batch_limit b where b.batch = (select l.batch from rebut_line l where l.hash = wanted) for update;
  select l.* into was from rebut_line l join rebut_session s on s.id = l.session where l.hash = wanted and s.epoch = mine;
  if not found then
    return false;
  end if;
  update rebut_batch_limit b
     set calls = b.calls - was.calls + its_calls,
         tokens = b.tokens - was.tokens + its_tokens,
         usd = b.usd - was.usd + its_usd
   where b.batch = was.batch;
  update rebut_line l set calls = its_calls, tokens = its_tokens, usd = its_usd, in_flight = flying where l.hash = wanted;
  return true;
end $$;

-- Reserve the worst case of a call, beside what its debate has spent and reserved. Gives '' if it may be made, 'wait'
-- while calls of the batch are in flight that may take less than is reserved for them, 'lost' to a worker that lost the
-- debate, else the limit that leaves no room. A call that is sent again does not wait.
create function rebut_reserve(
  wanted text, mine bigint, its_calls bigint, its_tokens bigint, its_usd float8, flying integer,
  more_calls bigint, more_tokens bigint, more_usd float8, again boolean
) returns text language plpgsql as $$
declare
  b rebut_batch_limit;
  full_limit text;
begin
  if not rebut_settle(wanted, mine, its_calls, its_tokens, its_usd, flying) then
    return 'lost';
  end if;
  select o.* into b from rebut_batch_limit o where o.batch = (select l.batch from rebut_line l where l.hash = wanted);
  if b.batch is null then
    return '';
  end if;
  if b.reached <> '' then
    return b.reached;
  end if;
  full_limit := case
    when b.calls + more_calls > b.max_calls then 'calls'
    when b.tokens + more_tokens > b.max_tokens then 'tokens'
    when b.usd + more_usd > b.max_usd + 1e-9 then 'usd'
    else ''
  end;
  if full_limit = '' then
    perform rebut_settle(
      wanted, mine, its_calls + more_calls, its_tokens + more_tokens, its_usd + more_usd,
      flying + case when again then 0 else 1 end
    );
    return '';
  end if;
  if again then
    return full_limit;
  end if;
  -- A dead worker's calls count as in flight until another one had the time to take its debates over.
  if exists (
    select from rebut_line l join rebut_session s on s.id = l.session
     where l.batch = b.batch and l.in_flight > 0 and s.lease_until > clock_timestamp() - interval '60 seconds'
  ) then
    return 'wait';
  end if;
  update rebut_batch_limit o set reached = full_limit where o.batch = b.batch;
  return full_limit;
end $$;

-- Count lines as those of a batch, with what each has spent. Lines that have ended and are no longer among them leave it.
create function rebut_attach(
  wanted text, everything text[], hashes text[], all_calls bigint[], all_tokens bigint[], all_usd float8[]
) returns void language plpgsql as $$
begin
  perform from rebut_batch_limit b order by b.batch for update;
  update rebut_line l set batch = wanted, calls = n.calls, tokens = n.tokens, usd = n.usd, in_flight = 0
    from unnest(hashes, all_calls, all_tokens, all_usd) as n (hash, calls, tokens, usd)
   where l.hash = n.hash;
  update rebut_line l set batch = ''
   where l.batch = wanted and l.outcome is not null
     and not exists (select from unnest(everything) as e (hash) where e.hash = l.hash);
  update rebut_batch_limit b set (calls, tokens, usd) = (
    select coalesce(sum(l.calls), 0), coalesce(sum(l.tokens), 0), coalesce(sum(l.usd), 0)
      from rebut_line l where l.batch = b.batch
  );
  update rebut_batch_limit b set reached = '' where b.batch = wanted;
end $$;
