import { z } from 'zod';
import { setting } from './settings.ts';
import { readBy } from './values.ts';

/** Below this a secret can be guessed, or was a placeholder. */
const secretBytesMin = 16;

function isLongEnough(secret: string): boolean {
  return Buffer.byteLength(secret) >= secretBytesMin;
}

const secretValue = readBy(`a secret of at least ${secretBytesMin} bytes`, (text) =>
  isLongEnough(text) ? text : null,
);

const secretsValue = readBy(`secrets of at least ${secretBytesMin} bytes each, separated by commas`, (text) => {
  const secrets = text.split(',').map((secret) => secret.trim());
  return secrets.every(isLongEnough) ? secrets : null;
});

/** The secrets that servers and workers share. Which of them a process needs goes by its mode and surfaces. */
export const secretSettings = z.object({
  API_KEY: setting(secretsValue.optional(), {
    meaning: 'Keys accepted in `X-API-Key`; several separated by commas while they are changed.',
    isSecret: true,
  }),
  KEY_TOKEN_SECRET: setting(secretValue.optional(), { meaning: 'Signs playback tokens.', isSecret: true }),
  WEBHOOK_SECRET: setting(secretValue.optional(), { meaning: 'Signs webhooks.', isSecret: true }),
  ENCRYPTION_KEY: setting(secretsValue.optional(), {
    meaning: 'Protects stored content keys; of several separated by commas the first wraps and each unwraps.',
    isSecret: true,
  }),
  THUMB_SECRET: setting(secretsValue.optional(), {
    meaning: 'Signs `/thumb` addresses; of several separated by commas each is accepted.',
    isSecret: true,
    defaultNote: 'derived from `KEY_TOKEN_SECRET`',
  }),
});
