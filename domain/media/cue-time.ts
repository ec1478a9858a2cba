/** A time within a day, as WebVTT writes it: `hh:mm:ss.mmm`. */
export function cueTime(sec: number): string {
  // A date within a day, whatever the zone.
  return new Date(Math.round(sec * 1000)).toISOString().slice(11, 23);
}
