! SPDX-License-Identifier: MIT
! Arrays, reductions and complex numbers of Fortran
program p
  use omp_lib
  implicit none
  integer, parameter :: n=200
  real(8) :: a(n,n), b(n,n), c(n,n), s, r
  complex(8) :: z(n), zz
  integer :: i,j,k,bad,host
  bad=0
  do j=1,n; do i=1,n; a(i,j)=mod(i*j,11); b(i,j)=mod(i+2*j,13); end do; end do
  !$omp target teams distribute parallel do collapse(2) map(to:a,b) map(from:c) private(k,s)
  do j=1,n
    do i=1,n
      s=0
      do k=1,n
        s=s+a(i,k)*b(k,j)
      end do
      c(i,j)=s
    end do
  end do
  if (maxval(abs(c-matmul(a,b)))>0) bad=bad+1
  s=0; r=sum(sqrt(a)+b)
  !$omp target teams distribute parallel do collapse(2) map(to:a,b) reduction(+:s)
  do j=1,n; do i=1,n; s=s+sqrt(a(i,j))+b(i,j); end do; end do
  if (abs(s-r)>1d-9*r) bad=bad+1
  !$omp target teams distribute parallel do map(from:z)
  do i=1,n; z(i)=exp(cmplx(0d0,i*0.1d0,8)); end do
  do i=1,n; zz=exp(cmplx(0d0,i*0.1d0,8)); if (abs(z(i)-zz)>1d-14) bad=bad+1; end do
  host=1
  !$omp target map(from:host)
  host=merge(1,0,omp_is_initial_device())
  !$omp end target
  print '(a,i0,a,i0)', 'bad=',bad,' on device=',1-host
  if (bad/=0.or.host/=0) stop 1
end program
