-- What players said of a media on a day (UTC): no session and no address. Servers add to one row. It goes with its media.
-- sessions: the sketch of domain/playback/session-sketch.ts, joined by OR; throughputs: the counts of
-- domain/playback/throughput-counts.ts.

create table playback_days (
  hash        text not null references media on delete cascade,
  day         date not null,
  requests    bigint not null,
  starved     bigint not null,
  sessions    bit(3072) not null,
  throughputs bigint[] not null,
  primary key (hash, day)
);

create index playback_days_by_day on playback_days (day);
