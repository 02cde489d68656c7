-- The caps of providers, shared by all workers: when the next request may be sent.

create table rebut_cap (
  provider text primary key,
  next_request timestamptz not null default '-infinity',
  next_tokens timestamptz not null default '-infinity',
  paused_until timestamptz not null default '-infinity',
  turn bigint not null default 0,
  sent timestamptz[] not null default '{}'              -- when the last requests were sent, by their turn
);

-- Reserve the next turn: at an even pace (GCRA, any weight), and never more than `most` requests in `span` seconds,
-- also after one that was sent late. Gives the seconds until the turn, and its number. A rate of 0 is no limit.
create function rebut_admit(
  who text, requests_a_second float8, most integer, span float8, tokens float8, tokens_a_second float8
) returns table (wait float8, number bigint) language plpgsql as $$
declare
  c rebut_cap;
  at timestamptz;
  now timestamptz;
  place integer;
begin
  insert into rebut_cap (provider) values (who) on conflict do nothing;
  select * into c from rebut_cap where provider = who for update;
  now := clock_timestamp();
  at := greatest(now, c.next_request, c.next_tokens, c.paused_until);
  if requests_a_second > 0 then
    if cardinality(c.sent) <> most then
      c.sent := array_fill('-infinity'::timestamptz, array[most]);
    end if;
    place := (c.turn + 1) % most + 1;
    at := greatest(at, c.sent[place] + interval '1 second' * span);
    c.sent[place] := at;
    c.next_request := at + interval '1 second' / requests_a_second;
  end if;
  if tokens_a_second > 0 then
    c.next_tokens := at + interval '1 second' * (tokens / tokens_a_second);
  end if;
  update rebut_cap
     set next_request = c.next_request, next_tokens = c.next_tokens, turn = c.turn + 1, sent = c.sent
   where provider = who;
  return query select extract(epoch from at - now)::float8, c.turn + 1;
end $$;

-- A request was sent so many seconds after its turn.
create function rebut_late(who text, late_turn bigint, secs float8) returns void language sql as $$
  update rebut_cap
     set sent[late_turn % cardinality(sent) + 1] = sent[late_turn % cardinality(sent) + 1] + interval '1 second' * secs
   where provider = who and cardinality(sent) > 0 and turn - late_turn < cardinality(sent)
$$;

-- Tokens that were reserved and not used.
create function rebut_give_back(who text, tokens float8, tokens_a_second float8) returns void language sql as $$
  update rebut_cap set next_tokens = next_tokens - interval '1 second' * (tokens / tokens_a_second) where provider = who
$$;

create function rebut_pause(who text, secs float8) returns void language sql as $$
  insert into rebut_cap (provider, paused_until) values (who, clock_timestamp() + interval '1 second' * secs)
  on conflict (provider) do update set paused_until = greatest(rebut_cap.paused_until, excluded.paused_until)
$$;

create function rebut_paused(who text) returns float8 language sql as $$
  select greatest(0, extract(epoch from max(paused_until) - clock_timestamp()))::float8 from rebut_cap
   where provider = who and paused_until > '-infinity'
$$;
