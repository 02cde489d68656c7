-- Sessions, their journals, the files of their snapshots, and notes to them.

create table rebut_session (
  id text primary key,
  owner text not null default '',
  epoch bigint not null default 0,                      -- the fencing token: each process that takes the session raises it
  lease_until timestamptz not null default '-infinity',
  last_seq bigint not null default 0,
  last_hash text not null default '',
  created timestamptz not null default now()
);

create table rebut_event (
  session text not null references rebut_session on delete cascade,
  seq bigint not null,
  epoch bigint not null,                                -- of the process that wrote it
  line bytea not null,                                  -- the very bytes of the journal's line, without its line end
  primary key (session, seq)
);

create index rebut_event_opening on rebut_event (session) where seq = 1;

create table rebut_blob (
  sha bytea primary key,                                -- SHA-256 of the content: equal files are stored once
  data bytea not null
);

create table rebut_file (
  session text not null references rebut_session on delete cascade,
  name text not null,
  sha bytea not null references rebut_blob,
  primary key (session, name)
);

create index rebut_file_sha on rebut_file (sha);

create table rebut_note (
  id bigint generated always as identity primary key,
  session text not null references rebut_session on delete cascade,
  said text not null,
  taken boolean not null default false,
  refused text not null default ''
);

create index rebut_note_waiting on rebut_note (session) where not taken;

-- Take a session that no process holds, or whose holder let the lease expire.
create function rebut_take(wanted text, who text, secs float8)
returns table (taken bigint, holder text, remaining float8) language plpgsql as $$
begin
  return query
    update rebut_session s
       set owner = who, epoch = s.epoch + 1, lease_until = clock_timestamp() + secs * interval '1 second'
     where s.id = wanted and s.lease_until < clock_timestamp()
    returning s.epoch, s.owner, secs;
  if not found then
    return query
      select null::bigint, s.owner, extract(epoch from s.lease_until - clock_timestamp())::float8
        from rebut_session s where s.id = wanted;
  end if;
end $$;

-- Extend leases. A row that is not kept belongs to another process by now.
create function rebut_renew(ids text[], epochs bigint[], secs float8)
returns table (session text, kept boolean, notes boolean) language sql as $$
  with mine as (select * from unnest(ids, epochs) as m (id, epoch)),
  renewed as (
    update rebut_session s set lease_until = clock_timestamp() + secs * interval '1 second'
      from mine m where s.id = m.id and s.epoch = m.epoch returning s.id
  )
  select m.id, r.id is not null, exists (select from rebut_note n where n.session = m.id and not n.taken)
    from mine m left join renewed r on r.id = m.id
$$;

create function rebut_release(wanted text, mine bigint) returns void language sql as $$
  update rebut_session set lease_until = '-infinity', owner = '' where id = wanted and epoch = mine
$$;

-- Append lines to several journals in one transaction. A process that lost the lease, or lost count, writes nothing.
-- One that repeats an append whose answer it did not get finds it done.
create function rebut_append(
  ids text[], epochs bigint[], firsts bigint[], counts bigint[], hashes text[], lines bytea[]
) returns boolean[] language plpgsql as $$
declare
  done boolean[] := '{}';
  place bigint := 0;
begin
  for i in 1 .. cardinality(ids) loop
    update rebut_session s set last_seq = s.last_seq + counts[i], last_hash = hashes[i]
     where s.id = ids[i] and s.epoch = epochs[i] and s.last_seq = firsts[i] - 1;
    if found then
      insert into rebut_event (session, seq, epoch, line)
        select ids[i], firsts[i] + n - 1, epochs[i], lines[place + n] from generate_series(1, counts[i]) n;
      done := done || true;
    else
      done := done || exists (
        select from rebut_session s
         where s.id = ids[i] and s.epoch = epochs[i] and s.last_seq = firsts[i] + counts[i] - 1 and s.last_hash = hashes[i]
      );
    end if;
    place := place + counts[i];
  end loop;
  return done;
end $$;
