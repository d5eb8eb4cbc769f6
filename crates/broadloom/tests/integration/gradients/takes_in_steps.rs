//! Derivatives of scans whose steps take elements of a table.

use broadloom::gradients::{checkpoint, grad, jvp, vmap};
use broadloom::prelude::*;
use broadloom::scan;

use crate::on_executors::each;
use crate::takes_in_steps::at;

/// Tangents pass through elements, and gradients with respect to other arrays than the table.
#[test]
fn derivatives() -> Result<()> {
    let table = Array::from_vec(vec![2.0_f64, 3.0, 5.0, 7.0]);
    let x = Array::from_shape_vec(&[4, 2], vec![1.0_f64, -2.0, 0.5, 4.0, 3.0, 8.0, -1.0, 0.25])?;
    let first = Array::from_vec(vec![1.0_f64, 10.0]);
    let filtered = |table: &Array<'static>, first: &Array<'static>, x: &Array<'static>| {
        let step = |[y, i]: &[Array<'static>; 2], [v]: &[Array<'static>; 1]| {
            let next = y * at(table, i) + v;
            ([next.clone(), i + 1], [next * 2.0])
        };
        let ([last, _], [all]) = scan(step, [first.clone(), Array::scalar(0_i64)], [x.clone()], 0)?;
        Ok::<_, Error>((last, all))
    };
    // The last state is 210 y + 105 x0 + 35 x1 + 7 x2 + x3.
    let (last, all) = filtered(&table, &first, &x)?;
    each(&last, &[352.5, 2086.25], "values")?;
    let found = grad(&last.sum(())?, &[&first, &x])?;
    each(&found[0], &[210.0, 210.0], "the first state")?;
    each(&found[1], &[105.0, 105.0, 35.0, 35.0, 7.0, 7.0, 1.0, 1.0], "inputs")?;
    // Twice the sums of the factors of all later states: 2 (1 + 3 + 15 + 105) of the first one.
    let of_outputs = [248.0, 248.0, 82.0, 82.0, 16.0, 16.0, 2.0, 2.0];
    each(&grad(&all.sum(())?, &[&x])?[0], &of_outputs, "outputs")?;
    let (_, again) = checkpoint(|| filtered(&table, &first, &x))?;
    each(&grad(&again.sum(())?, &[&x])?[0], &of_outputs, "computed again")?;
    // With respect to the table: the value before each step, times the factors of the later ones.
    let of_table = grad(&last.sum(())?, &[&table])?;
    each(&of_table[0], &[1155.0, 735.0, 472.5, 348.5], "the table")?;
    // With respect to its first element, forwards: 105 y.
    let unit = Array::from_vec(vec![1.0, 0.0, 0.0, 0.0]);
    each(&jvp(&[&last], &[&table], &[&unit])?[0], &[105.0, 1050.0], "the table")?;
    // A tangent of a tangent, and a gradient of a tangent.
    let ones = Array::from_shape_vec(&[4, 2], vec![1.0_f64; 8])?;
    let moved = jvp(&[&last], &[&table], &[&unit])?.remove(0);
    each(&jvp(&[&moved], &[&first], &[&Array::from_vec(vec![1.0, 2.0])])?[0], &[105.0, 210.0], "twice")?;
    each(&jvp(&[&last], &[&x], &[&ones])?[0], &[148.0, 148.0], "forwards")?;

    let batch = Array::from_shape_vec(&[2, 2], vec![1.0_f64, 10.0, 0.0, -1.0])?;
    let mapped = vmap(|args| Ok(vec![filtered(&table, &args[0], &x)?.0]), &[batch], &[Some(0)], 0)?;
    each(&mapped[0], &[352.5, 2086.25, 142.5, -223.75], "a batch")?;
    // Ones in the table of the first index, which sum, and the table itself.
    let ones = vec![1.0_f64, 1.0, 1.0, 1.0, 2.0, 3.0, 5.0, 7.0];
    let tables = Array::from_shape_vec(&[2, 4], ones)?;
    let mapped = vmap(|args| Ok(vec![filtered(&args[0], &first, &x)?.0]), &[tables], &[Some(0)], 0)?;
    each(&mapped[0], &[4.5, 20.25, 352.5, 2086.25], "a batch of tables")?;
    Ok(())
}
