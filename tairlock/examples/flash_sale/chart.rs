//! The result as a picture: a line of bars per way, a column per question.

use std::{ops::Range, path::Path};

use anyhow::{Context as _, anyhow};
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use crate::{
    args::Args,
    report::{Row, grouped, grouped_signed, time},
};

const INK: RGBColor = RGBColor(33, 37, 41);
const FAINT: RGBColor = RGBColor(108, 117, 125);
const TRACK: RGBColor = RGBColor(241, 243, 245);
const GOOD: RGBColor = RGBColor(18, 146, 110);
const BAD: RGBColor = RGBColor(214, 57, 57);
const PLAIN: RGBColor = RGBColor(56, 108, 176);
const PALE: RGBColor = RGBColor(166, 196, 230);

const WIDTH: i32 = 1_000;
const HEAD: i32 = 132;
const LINE: i32 = 74;
const FOOT: i32 = 44;
const MARGIN: i32 = 32;
/// Where the columns begin, and how wide their longest bar is.
const COLUMNS: [i32; 3] = [190, 470, 740];
const BAR: i32 = 228;

/// Draws `rows` into `file`.
pub(crate) fn draw(file: &Path, rows: &[Row], args: &Args) -> anyhow::Result<()> {
    let height = HEAD + LINE * i32::try_from(rows.len())? + FOOT;
    let size = (u32::try_from(WIDTH)?, u32::try_from(height)?);
    let area = SVGBackend::new(file, size).into_drawing_area();
    let picture = Picture(area);
    let drawn = picture.fill(rows, args, height).and_then(|()| picture.0.present());
    // The backend's own error borrows the file's name.
    drawn
        .map_err(|error| anyhow!("{error}"))
        .with_context(|| format!("cannot draw {}", file.display()))
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

struct Picture<'a>(DrawingArea<SVGBackend<'a>, Shift>);

impl<'a> Picture<'a> {
    fn fill(&self, rows: &[Row], args: &Args, height: i32) -> Drawn<'a> {
        self.0.fill(&WHITE)?;
        let (buyers, items) = (grouped(args.buyers.into()), grouped(args.items));
        let place = if args.url.is_some() {
            format!("a server, {} processes", args.shares().len())
        } else {
            "embedded server".to_owned()
        };
        let title = format!("Flash sale: {buyers} buyers, {items} items");
        self.text(&title, (MARGIN, 44), 24, INK, FontStyle::Bold)?;
        self.text(&place, (MARGIN, 70), 15, FAINT, FontStyle::Normal)?;
        let questions = ["orders confirmed", "orders per second", "time per order"];
        for (question, x) in questions.into_iter().zip(COLUMNS) {
            self.text(question, (x, HEAD - 20), 14, FAINT, FontStyle::Bold)?;
        }
        let rule = [(MARGIN, HEAD - 10), (WIDTH - MARGIN, HEAD - 10)];
        self.0.draw(&PathElement::new(rule, TRACK.stroke_width(2)))?;
        let scales = Scales::of(rows);
        for (y, row) in (HEAD..).step_by(LINE as usize).zip(rows) {
            self.row(row, y, args.items, &scales)?;
        }
        self.legend(height - 18)
    }

    fn row(&self, row: &Row, y: i32, items: u64, scales: &Scales) -> Drawn<'a> {
        self.text(row.name, (MARGIN, y + 42), 15, INK, FontStyle::Bold)?;
        let [orders, speed, duration] = COLUMNS;

        let (sold, lost) = (row.sold() as f64, row.lost(items).max(0) as f64);
        let label = match row.lost(items) {
            0 => format!("{}, no update lost", grouped(row.sold())),
            lost => format!("{}, {} updates lost", grouped(row.sold()), grouped_signed(lost)),
        };
        self.text(&label, (orders, y + 22), 14, INK, FontStyle::Normal)?;
        self.bar(orders, y, 0.0..1.0, TRACK)?;
        self.bar(orders, y, 0.0..sold / scales.sold, BAD)?;
        self.bar(orders, y, 0.0..(sold - lost) / scales.sold, GOOD)?;

        let per_second = row.sales_per_second();
        let label = grouped(per_second as u64);
        self.text(&label, (speed, y + 22), 14, INK, FontStyle::Normal)?;
        self.bar(speed, y, 0.0..1.0, TRACK)?;
        self.bar(speed, y, 0.0..per_second / scales.per_second, PLAIN)?;

        let (p50, p99) = (row.percentile(50), row.percentile(99));
        let label = format!("p50 {}, p99 {}", time(p50), time(p99));
        self.text(&label, (duration, y + 22), 14, INK, FontStyle::Normal)?;
        self.bar(duration, y, 0.0..1.0, TRACK)?;
        self.bar(duration, y, 0.0..p99 / scales.p99, PALE)?;
        self.bar(duration, y, 0.0..p50 / scales.p99, PLAIN)
    }

    fn legend(&self, y: i32) -> Drawn<'a> {
        let [orders, _, duration] = COLUMNS;
        let signs = [
            (orders, GOOD, "backed by an item"),
            (orders + 150, BAD, "lost update"),
            (duration, PLAIN, "p50"),
            (duration + 64, PALE, "p99"),
        ];
        for (x, colour, text) in signs {
            self.0.draw(&Rectangle::new([(x, y - 10), (x + 10, y)], colour.filled()))?;
            self.text(text, (x + 16, y), 13, FAINT, FontStyle::Normal)?;
        }
        Ok(())
    }

    /// A bar in the column at `x`, over this part of its width.
    fn bar(&self, x: i32, y: i32, part: Range<f64>, colour: RGBColor) -> Drawn<'a> {
        let at = |part: f64| x + (part * f64::from(BAR)).round() as i32;
        let corners = [(at(part.start), y + 32), (at(part.end), y + 48)];
        self.0.draw(&Rectangle::new(corners, colour.filled()))
    }

    /// A text that stands on the point `at`.
    fn text(
        &self,
        text: &str,
        at: (i32, i32),
        size: i32,
        colour: RGBColor,
        style: FontStyle,
    ) -> Drawn<'a> {
        let font = FontDesc::new(FontFamily::SansSerif, f64::from(size), style);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(HPos::Left, VPos::Bottom));
        self.0.draw(&Text::new(text, at, style))
    }
}

/// What the longest bar of every column stands for.
struct Scales {
    sold: f64,
    per_second: f64,
    p99: f64,
}

impl Scales {
    fn of(rows: &[Row]) -> Self {
        let longest = |value: &dyn Fn(&Row) -> f64| rows.iter().map(value).fold(1e-9, f64::max);
        Self {
            sold: longest(&|row| row.sold() as f64),
            per_second: longest(&Row::sales_per_second),
            p99: longest(&|row| row.percentile(99)),
        }
    }
}
