const hourMs = 3_600_000;

/** A time as WebVTT writes it: `hh:mm:ss.mmm`. */
export function cueTime(sec: number): string {
  const ms = Math.round(sec * 1000);
  const hours = String(Math.floor(ms / hourMs)).padStart(2, '0');
  // A date within an hour, whatever the zone.
  return `${hours}:${new Date(ms % hourMs).toISOString().slice(14, 23)}`;
}
