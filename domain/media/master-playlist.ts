/** A URI that stands for itself: absolute, or already rooted. */
const standsAlone = /^(?:[a-z][a-z0-9+.-]*:|\/)/i;

/**
 * The top master playlist of a revision: the revision's own master with every relative URI (lines and `URI="…"`
 * attributes) led into the folder `rev`.
 */
export function topMasterOf(revisionMaster: string, rev: string): string {
  const into = (uri: string) => (standsAlone.test(uri) ? uri : `${rev}/${uri}`);
  return revisionMaster
    .split('\n')
    .map((line) => {
      if (line.trim() === '') return line;
      if (line.startsWith('#')) return line.replace(/(?<=[,:]URI=")([^"]*)(?=")/g, into);
      return into(line);
    })
    .join('\n');
}

/** The revision that a top master playlist points into; null when it names none. */
export function revisionOfMaster(topMaster: string): string | null {
  const found = topMaster.split('\n').find((line) => line !== '' && !line.startsWith('#'));
  return found === undefined ? null : (/^([0-9a-f]{16})\//.exec(found)?.[1] ?? null);
}
