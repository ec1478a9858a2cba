import { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import { randomOf } from '../random.ts';
import { Delivery } from './delivery.ts';
import { openGround } from './ground.ts';
import { type RoundResult, runRound } from './round.ts';

interface RunInput {
  readonly databaseUrl: string;
  readonly seed: number;
  readonly seconds: number;
  /** The change that a planted bug makes to the database. */
  readonly sql: string | null;
  readonly print: (line: string) => void;
}

/** Every third round is long enough for a lock that is held for nearly ten seconds. */
const secondsOf = (round: number) => (round % 3 === 1 ? 12 : 4);

/** Rounds until the time is over or one has a violation. */
export async function runCrossings({ databaseUrl, seed, seconds, sql, print }: RunInput) {
  const ground = await openGround(databaseUrl, randomOf(seed));
  if (sql !== null) await ground.watching.pool.query(sql);
  const delivery = new Delivery(new DeletedMediaStore(ground.watching));
  const startedAt = performance.now();
  const elapsedSec = () => Math.round((performance.now() - startedAt) / 1_000);
  let rounds = 0;
  const deeds = new Map<string, number>();
  let last: RoundResult | null = null;
  try {
    while (elapsedSec() < seconds && (last?.violations.length ?? 0) === 0) {
      const random = randomOf(seed * 1_000_003 + rounds);
      const input = { ground, delivery, random, name: `s${seed}r${rounds}` };
      last = await runRound(input, Math.min(secondsOf(rounds), seconds));
      rounds += 1;
      for (const deed of last.deeds) deeds.set(deed, (deeds.get(deed) ?? 0) + 1);
      print(
        `round ${rounds}: ${last.deeds.length} deeds, ${last.violations.length} violations, after ${elapsedSec()} s`,
      );
    }
  } finally {
    await delivery.stop();
    await ground.close();
  }
  const { violations = [], history = [] } = last ?? {};
  const counted = Object.fromEntries([...deeds].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return { seed, rounds, deeds: counted, seconds: elapsedSec(), violations, history };
}
