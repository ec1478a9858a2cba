/** How a media plays: `open` to everybody who knows its hash, or `signed`, to whoever has a ticket. */
export const playbackModes = ['open', 'signed'] as const;
export type PlaybackMode = (typeof playbackModes)[number];

/** How a media plays now. */
export interface Playback {
  readonly mode: PlaybackMode;
  /** Tickets of a lesser generation are withdrawn. */
  readonly generation: number;
}

/** The playback of a media about which nobody has decided anything. */
export const openPlayback: Playback = { mode: 'open', generation: 0 };
