/** A URI with a scheme, or a path from the root. */
const absolute = /^(?:[a-z][a-z0-9+.-]*:|\/)/i;

/**
 * The top master playlist of a revision: the revision's own master with every relative URI (lines and `URI="…"`
 * attributes) prefixed with the folder `rev`.
 */
export function topMasterOf(revisionMaster: string, rev: string): string {
  const into = (uri: string) => (absolute.test(uri) ? uri : `${rev}/${uri}`);
  return revisionMaster
    .split('\n')
    .map((line) => {
      if (line.trim() === '') return line;
      if (line.startsWith('#')) return line.replace(/(?<=[,:]URI=")[^"]*/g, into);
      return into(line);
    })
    .join('\n');
}

/** The revision that a top master playlist refers to; null when there is none. */
export function revisionOfMaster(topMaster: string): string | null {
  const found = topMaster.split('\n').find((line) => line !== '' && !line.startsWith('#'));
  return found?.match(/^([0-9a-f]{16})\//)?.[1] ?? null;
}
