import { expiryOf } from './credentials.js';

// Failures of playback: what happened and what to do.

/**
 * @typedef {'retry' | 'enter-token'} Action what the user can do
 *
 * @typedef {object} ProblemInput
 * @property {string} kind stable: tests and styles may rely on it
 * @property {string} title
 * @property {string} text
 * @property {Action[]} [actions]
 * @property {boolean} [isPart] the player may continue after another try
 */

/** A failure of playback with a title and a text for the user. */
export class PlaybackProblem extends Error {
  /** @param {ProblemInput} input */
  constructor({ kind, title, text, actions = [], isPart = false }) {
    super(text);
    this.name = 'PlaybackProblem';
    this.kind = kind;
    this.title = title;
    this.actions = actions;
    this.isPart = isPart;
  }
}

/** What the page shows without a stream. */
export const nothingProblem = () =>
  new PlaybackProblem({
    kind: 'nothing',
    title: 'No stream selected',
    text: 'Nothing to play. Open a player link, or enter the name of a media.',
  });

/**
 * Anything that was thrown, such as by a library that was not loaded, as a problem.
 *
 * @param {unknown} error
 */
export const problemOf = (error) =>
  error instanceof PlaybackProblem
    ? error
    : new PlaybackProblem({ kind: 'page', title: 'The stream does not play', text: String(error) });

/**
 * The claims of a token; the signature is not verified.
 *
 * @param {string} token
 * @returns {{hash?: unknown, exp?: unknown} | null}
 */
function readToken(token) {
  try {
    const payload = (token.split('.')[0] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (c) => c.charCodeAt(0))));
  } catch {
    return null;
  }
}

/**
 * The likely reason of a 403, from the token's claims: the server does not say which check failed.
 *
 * @param {Asked} asked
 */
function whyRefused({ hash, token }) {
  const claims = readToken(token);
  if (claims === null) return 'It is not a playback token.';
  if (typeof claims.hash === 'string' && claims.hash !== hash)
    return `It was made for another media (“${claims.hash}”).`;
  if (typeof claims.exp === 'number' && claims.exp * 1000 < Date.now())
    return `It expired on ${new Date(claims.exp * 1000).toLocaleString()}.`;
  return 'Its signature is not valid.';
}

/** @param {string} kind */
export function unreachableProblem(kind) {
  return new PlaybackProblem({
    kind,
    title: navigator.onLine ? 'The server cannot be reached' : 'You are offline',
    text: 'Check that it is running and that you are online, then try again.',
    actions: ['retry'],
  });
}

/** @typedef {{hash: string, token: string, ticket: string}} Asked */

/**
 * @param {import('./addresses.js').AddressKind} what was requested
 * @param {number} status of the answer, 0 without an answer
 * @param {Asked} asked
 * @param {string} [detail] what the answer says of itself
 */
export function problemOfStatus(what, status, asked, detail = '') {
  // No try brings it back; what is buffered of it is not played on.
  if (status === 410)
    return new PlaybackProblem({
      kind: 'deleted',
      title: 'This stream was deleted',
      text: 'Whoever gave you the link knows whether there is another one.',
    });
  // The server names the address with a ticket where a stream plays by nothing else.
  if (what !== 'key' && status === 404 && detail.includes('/s/{ticket}/')) return ticketProblem(missingTicket, asked);
  if (what !== 'key' && status === 403 && asked.ticket !== '') return ticketProblem(refusalOf(detail), asked);
  const kind = `${what}-${status || 'unreachable'}`;
  if (what === 'part') return partProblem(kind, status);
  if (status === 0) return unreachableProblem(kind);
  if (status === 429)
    return new PlaybackProblem({
      kind,
      title: 'Too many requests',
      text: 'The server limits how often keys are fetched. Try again in a minute.',
      actions: ['retry'],
    });
  if (status >= 500)
    return new PlaybackProblem({
      kind,
      title: 'The server failed',
      text: `It answered ${status} for the ${what === 'key' ? 'key of this stream' : 'stream'}. Try again in a moment.`,
      actions: ['retry'],
    });
  return new PlaybackProblem({ kind, ...(what === 'key' ? keyProblem(status, asked) : streamProblem(status, asked)) });
}

/** @typedef {[kind: string, title: string, text: string]} TicketRefusal */

/** @type {TicketRefusal} */
const missingTicket = ['missing', 'This stream needs a ticket', 'The address of this page has none.'];
/** @type {TicketRefusal} */
const wrongTicket = ['refused', 'This link is not valid', 'It was changed on its way, or is of another stream.'];

/**
 * The texts by which the server refuses a ticket, and what each means for a viewer.
 *
 * @type {[said: RegExp, ...TicketRefusal][]}
 */
const ticketRefusals = [
  [/^The ticket expired/, 'expired', 'This link has expired', 'It was valid until {time}.'],
  [/were withdrawn/, 'withdrawn', 'This link was withdrawn', 'Whoever gave it to you has ended it.'],
  [/scope/, 'scope', 'This link does not open the whole stream', 'It is for less than what was asked for.'],
  [/^Signed addresses are off/, 'off', 'This server takes no tickets', 'Its operator has not set STREAM_SECRET.'],
];

/**
 * @param {string} detail
 * @returns {TicketRefusal}
 */
function refusalOf(detail) {
  const [, ...refusal] = ticketRefusals.find(([said]) => said.test(detail)) ?? [null, ...wrongTicket];
  return refusal;
}

/**
 * @param {TicketRefusal} refusal
 * @param {Asked} asked
 */
function ticketProblem([kind, title, text], { ticket }) {
  const time = new Date(expiryOf(ticket) * 1000).toLocaleString();
  const remedy = 'Open the player link that you were given, or ask for a new one.';
  return new PlaybackProblem({ kind: `ticket-${kind}`, title, text: `${text.replace('{time}', time)} ${remedy}` });
}

/**
 * @param {string} kind
 * @param {number} status
 */
function partProblem(kind, status) {
  /** @type {Record<number, string>} */
  const answers = { 0: 'The server did not send it.', 404: 'The server does not have it.' };
  return new PlaybackProblem({
    kind,
    title: 'A part of the stream could not be loaded',
    text: `${answers[status] ?? `The server answered ${status}.`} Playback goes on here as soon as it is loaded.`,
    actions: ['retry'],
    isPart: true,
  });
}

/**
 * @param {number} status
 * @param {Asked} asked
 * @returns {Omit<ProblemInput, 'kind'>}
 */
function keyProblem(status, asked) {
  if (status === 401)
    return {
      title: 'This stream is encrypted and needs a token',
      text: 'Enter the playback token below, or open the player link that you were given.',
      actions: ['enter-token'],
    };
  if (status === 403)
    return {
      title: 'The token was refused',
      text: `${whyRefused(asked)} Get a new token.`,
      actions: ['enter-token'],
    };
  if (status === 404) return { title: 'This stream has no key', text: `No content key is stored for “${asked.hash}”.` };
  return { title: 'The key was refused', text: `The server answered ${status}.` };
}

/**
 * @param {number} status
 * @param {Asked} asked
 * @returns {Omit<ProblemInput, 'kind'>}
 */
function streamProblem(status, { hash }) {
  if (status === 404)
    return {
      title: 'This stream does not exist',
      text: `No stream is published for “${hash}”. Check the hash, or wait until its job is completed.`,
      actions: ['retry'],
    };
  return { title: 'The stream was refused', text: `The server answered ${status}.` };
}

/** The browser decrypts only in a secure context (W3C Encrypted Media Extensions). */
export function insecureContextProblem() {
  return new PlaybackProblem({
    kind: 'insecure',
    title: 'Encrypted streams need https',
    text: 'Browsers decrypt only on https addresses and on localhost. Open this page at one of them.',
  });
}
