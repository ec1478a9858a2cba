import { includesRight, type Right } from './rights.ts';

/** A session ends so long after it was begun or renewed, in seconds. */
export const sessionSec = 15 * 60;
/** No renewal goes beyond a day after its beginning, in seconds. */
export const sessionSecMax = 24 * 60 * 60;

const secretBytes = 32;

/** The secret of a session, which its cookie holds: `rws_` and 256 random bits. */
export function sessionSecretOf(random: (bytes: number) => Buffer): string {
  return `rws_${random(secretBytes).toString('base64url')}`;
}

/** Whether `text` has the form of a session's secret; nothing else is looked up. */
export function isSessionSecret(text: string): boolean {
  return /^rws_[A-Za-z0-9_-]{43}$/.test(text);
}

/** The rights of a session that was given `chosen` (null: all of its key), never above those that its key has now. */
export function rightsOfSession(ofKey: readonly Right[], chosen: readonly Right[] | null): readonly Right[] {
  return chosen === null ? ofKey : chosen.filter((right) => includesRight(ofKey, right));
}
