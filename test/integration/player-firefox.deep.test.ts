import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { type FirefoxPage, firefoxPath, openFirefox } from '../../testing/firefox.ts';
import { playerUrl, tokenFor } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// The player page in a real Firefox, by tickets.

interface Shown {
  readonly time: number;
  readonly frames: number;
  readonly message: string;
}

const shownIn = (page: FirefoxPage) =>
  page.evaluate<Shown>(`(() => {
    const video = document.querySelector('video');
    const message = document.querySelector('#message');
    return {
      time: video.currentTime,
      frames: video.getVideoPlaybackQuality().totalVideoFrames,
      message: message.hidden ? '' : message.dataset.kind,
    };
  })()`);

describe.skipIf(firefoxPath === null || !inject('postgres'))('the player page in a real Firefox', () => {
  it.each(['captioned-clear', 'captioned-encrypted'])(
    'C33.15: Firefox plays %s by a ticket, with captions, and says that a ticket has expired',
    async (hash) => {
      const { service } = await onStage('streams of captioned');
      const media = await fetch(`${service.url}/api/media/${hash}`, { headers: { 'x-api-key': secrets.API_KEY } });
      const { playback_generation: generation } = (await media.json()) as { playback_generation: number };
      const ticketFor = (seconds: number) => {
        const exp = Math.floor(Date.now() / 1000) + seconds;
        return signStreamTicket({ hash, generation, exp }, secrets.STREAM_SECRET);
      };
      const page = await openFirefox();
      onTestFinished(page.close);
      await page.goto(playerUrl(service.url, { hash, ticket: ticketFor(900), token: tokenFor(hash) }));
      await expect.poll(async () => (await shownIn(page)).time).toBeGreaterThan(2);
      await page.evaluate(`document.querySelector('#captions-toggle').click()`);
      const showing = `[...document.querySelector('video').textTracks].some(({ mode }) => mode === 'showing')`;
      await expect.poll(() => page.evaluate(showing)).toBe(true);
      await expect.poll(async () => (await shownIn(page)).frames).toBeGreaterThan(5);
      expect((await shownIn(page)).message).toBe('');
      await page.evaluate(`void (location.hash = ${JSON.stringify(`hash=${hash}&ticket=${ticketFor(-60)}`)})`);
      await expect.poll(async () => (await shownIn(page)).message).toBe('ticket-expired');
    },
  );
});
