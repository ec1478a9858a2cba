/** Who may have more slots of a pool than it has. */
export interface SlotUser {
  /** The API key; empty for what no key asked for. */
  readonly key: string;
  /** 1 to 100. */
  readonly weight: number;
  /** The slots that it has. */
  readonly slots: number;
  /** The most that it can use. */
  readonly slotsMax: number;
}

/**
 * Shares spare slots among keys by weight, and inside a key evenly: each slot goes to the key that has the fewest for
 * its weight, and there to the user that has the fewest; the first of equal ones. What one cannot use goes to others.
 *
 * @returns the slots of each user, with those that it had
 */
export function shareSlots(spare: number, users: readonly SlotUser[]): number[] {
  const slots = users.map((user) => user.slots);
  const slotsOf = new Map<string, number>();
  const give = (key: string, count: number) => slotsOf.set(key, (slotsOf.get(key) ?? 0) + count);
  for (const { key, slots: count } of users) give(key, count);
  for (let left = spare; left > 0; left--) {
    let next: number | null = null;
    let least: readonly [number, number] = [Infinity, Infinity];
    for (const [index, { key, weight, slotsMax }] of users.entries()) {
      const own = slots[index] ?? 0;
      const rank = [(slotsOf.get(key) ?? 0) / weight, own] as const;
      const isLess = rank[0] < least[0] || (rank[0] === least[0] && rank[1] < least[1]);
      if (own < slotsMax && isLess) [next, least] = [index, rank];
    }
    if (next === null) break;
    slots[next] = (slots[next] ?? 0) + 1;
    give(users[next]?.key ?? '', 1);
  }
  return slots;
}
