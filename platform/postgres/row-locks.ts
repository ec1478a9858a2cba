/**
 * The condition of a statement that changes several rows: it locks them by their ids in ascending order first, so that
 * two such statements do not wait for each other (docs/decisions/0405).
 */
export function lockedInOrder(table: string, condition: string): string {
  return `id in (select id from ${table} where ${condition} order by id for no key update)`;
}
