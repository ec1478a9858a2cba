/**
 * The months that lie whole between two days. Where there is none, the end is not after the beginning.
 *
 * @param days the first and the last one, `2026-11-27`
 * @returns the first day of the first whole month, and the day after the last one
 */
export function wholeMonths({ from, to }: { readonly from: string; readonly to: string }): {
  readonly first: string;
  readonly end: string;
} {
  return { first: from.endsWith('-01') ? from : monthAfter(from), end: monthOf(dayAfter(to)) };
}

const monthOf = (day: string) => `${day.slice(0, 7)}-01`;
const dayAfter = (day: string) => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
const monthAfter = (day: string) =>
  new Date(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)))).toISOString().slice(0, 10);
