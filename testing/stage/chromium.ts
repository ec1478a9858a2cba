import { chromium } from 'playwright-core';
import { findProgram } from '../servers.ts';
import type { StartedPart } from './server.ts';

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The browser of this machine; null without one: suites then use `describe.skipIf(chromiumPath === null)`. */
export const chromiumPath = names.map((name) => findProgram(name)).find((path) => path !== null) ?? null;

export interface BrowserPart {
  readonly wsEndpoint: string;
}

/** Starts the browser, with an empty profile and without requests of its own. */
export async function startBrowser(): Promise<StartedPart<BrowserPart>> {
  if (chromiumPath === null) throw new Error('no Chromium on this machine');
  const server = await chromium.launchServer({
    executablePath: chromiumPath,
    args: [
      // The sandbox does not start as root.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-sync',
      '--disable-background-networking',
      '--disable-component-update',
      '--autoplay-policy=no-user-gesture-required',
    ],
  });
  return { answer: { wsEndpoint: server.wsEndpoint() }, stop: () => server.close() };
}
