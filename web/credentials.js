import { readFragment } from './addresses.js';

// What the page plays with: the stream of its address, and the newest token and ticket for it. What the page around
// sent wins over what the address has.

/** The longest that a timer of a browser can wait. */
const timerMsMax = 2 ** 31 - 1;
/** A new ticket is asked for this long before the last one expires, or at half of its time where that is later. */
const renewalMs = 60_000;

export function createCredentials() {
  /** @type {{hash: string, token?: string, ticket?: string}} */
  let sent = { hash: '' };
  return {
    choice() {
      const choice = readFragment();
      return sent.hash === choice.hash ? { ...choice, ...sent } : choice;
    },
    /**
     * @param {'token' | 'ticket'} name
     * @param {string} value
     * @param {string} hash
     */
    take(name, value, hash) {
      sent = { ...(sent.hash === hash ? sent : { hash }), [name]: value };
    },
    /** Another stream may have been chosen. */
    forgetOthers() {
      if (sent.hash !== readFragment().hash) sent = { hash: '' };
    },
  };
}

/**
 * The Unix time in seconds at which a ticket expires; NaN for what is none.
 *
 * @param {string} ticket
 */
export const expiryOf = (ticket) => Number(/^\d+(?=\.)/.exec(ticket)?.[0]);

/**
 * Calls `renew` in time before a ticket expires.
 *
 * @param {() => void} renew
 */
export function createTicketTimer(renew) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return {
    /** @param {string} ticket the newest, or '' */
    watch(ticket) {
      clearTimeout(timer);
      const leftMs = expiryOf(ticket) * 1000 - Date.now();
      if (leftMs > 0) timer = setTimeout(renew, Math.min(timerMsMax, Math.max(leftMs / 2, leftMs - renewalMs)));
    },
  };
}
