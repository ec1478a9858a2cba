// What went wrong, in words that tell a person what to do next.

/** A failure of playback with a title and a text for people. `kind` is stable: tests and styles may rely on it. */
export class PlaybackProblem extends Error {
  constructor({ kind, title, text }) {
    super(text);
    this.name = 'PlaybackProblem';
    this.kind = kind;
    this.title = title;
  }
}

/** What the token says of itself; its signature is the server's matter. */
function readToken(token) {
  try {
    const payload = token.split('.')[0].replaceAll('-', '+').replaceAll('_', '/');
    const { hash, exp } = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (c) => c.charCodeAt(0))));
    return { hash, exp };
  } catch {
    return null;
  }
}

/** The server tells nobody which check failed; the token itself tells its holder the likely one. */
function whyRefused({ hash, token }) {
  const says = readToken(token);
  if (says === null) return 'It is not a playback token at all.';
  if (typeof says.hash === 'string' && says.hash !== hash) return `It was made for another media (“${says.hash}”).`;
  if (typeof says.exp === 'number' && says.exp * 1000 < Date.now())
    return `It expired on ${new Date(says.exp * 1000).toLocaleString()}.`;
  return 'Its signature does not hold.';
}

/**
 * @param {'key' | 'stream'} what was asked for
 * @param {number} status of the answer, 0 when there was none
 * @param {{hash: string, token: string}} asked
 */
export function problemOfStatus(what, status, asked) {
  const kind = `${what}-${status || 'unreachable'}`;
  if (status === 0)
    return new PlaybackProblem({
      kind,
      title: 'The server cannot be reached',
      text: 'Look whether it is still running, then try again.',
    });
  if (status === 429)
    return new PlaybackProblem({
      kind,
      title: 'Too many requests',
      text: 'The server limits how often keys are fetched. Try again in a minute.',
    });
  if (status >= 500)
    return new PlaybackProblem({
      kind,
      title: 'The server failed',
      text: `It answered ${status} for the ${what === 'key' ? 'key of this stream' : 'stream'}. Try again in a moment.`,
    });
  return new PlaybackProblem({ kind, ...(what === 'key' ? keyProblem(status, asked) : streamProblem(status, asked)) });
}

function keyProblem(status, asked) {
  if (status === 401)
    return {
      title: 'This stream is encrypted and needs a token',
      text: 'There was none in the address. Put one below, or open the link that you were given for this video.',
    };
  if (status === 403)
    return { title: 'The token was refused', text: `${whyRefused(asked)} Ask for a new one where you got it.` };
  if (status === 404)
    return { title: 'There is no key for this stream', text: `No content key is stored for “${asked.hash}”.` };
  return { title: 'The key was refused', text: `The server answered ${status}.` };
}

function streamProblem(status, { hash }) {
  if (status === 404)
    return {
      title: 'There is no such stream',
      text: `Nothing was published for “${hash}”. Look at the hash, or wait until its job has completed.`,
    };
  return { title: 'The stream was refused', text: `The server answered ${status}.` };
}
